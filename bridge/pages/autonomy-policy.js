// The form for a policy: its level, until when it is autonomous, its budgets,
// and the matrix of what follows. What a person has put in is kept until it is
// saved or discarded, whatever is changed elsewhere meanwhile.

import { signInAgain } from './again.js';
import { ask, Refused } from './api.js';
import { BUDGETS, CAPABILITIES, EFFECTS, LEVELS, levelName, reasonText, roughly, whenText, WINDOWS } from './autonomy-words.js';
import { element, part } from './dom.js';

const HOUR = 3_600_000; // ms
/** @type {[text: string, ms: number][]} */
const UNTIL = [['an hour from now', HOUR], ['4 hours from now', 4 * HOUR], ['12 hours from now', 12 * HOUR], ['a week from now', 7 * 24 * HOUR]];

/** @typedef {import('../hux.d.ts').Policy} Policy */
/** @typedef {import('../hux.d.ts').PolicyPut} PolicyPut */
/** @typedef {{kind: string, window: string, limit: number}} Budget */

/**
 * What a person can set. until is a time, or how long from when it is saved, in
 * ms: the router's clock counts, and this page's may be wrong.
 *
 * @typedef {{level: string, until: string | number | null, budgets: Budget[]}} Input
 */

export class PolicyForm {
  /** @param {HTMLElement} root  the form of the page's template */
  constructor(root) {
    this.root = root;
    this.scope = 'user';
    /** @type {Policy | null} as the router has it */
    this.policy = null;
    /** @type {Policy | null} what applies where nothing is set */
    this.wider = null;
    /** @type {Input} */
    this.input = { level: '', until: null, budgets: [] };
    /** @type {string | null} the time that the input began with */
    this.dated = null;
    this.saving = false;
    /** @type {(() => void) | null} ends the wait for a sign-in */
    this.waiting = null;
    this.levels = part(root, '[data-levels]');
    this.until = /** @type {HTMLSelectElement} */ (part(root, '[data-until]'));
    this.budgets = part(root, '[data-budgets]');
    this.kind = /** @type {HTMLSelectElement} */ (part(root, '[data-budget-kind]'));
    this.window = /** @type {HTMLSelectElement} */ (part(root, '[data-budget-window]'));
    this.saying = part(root, '[data-saying]');
    this.inherits = part(document, '[data-inherits]');
    this.matrix = part(document, '[data-matrix]');

    for (const [value, { name, line }] of Object.entries(LEVELS)) this.levels.append(this.level(value, name, line));
    for (const [value, { name }] of Object.entries(BUDGETS)) this.kind.append(element('option', { value }, name));
    for (const [value, name] of Object.entries(WINDOWS)) this.window.append(element('option', { value }, name));
    this.until.addEventListener('change', () => {
      const ms = Number(this.until.value);
      this.input.until = this.until.value === 'as-is' ? this.dated : ms > 0 ? ms : null;
      this.drawSaving();
    });
    part(root, '[data-budget-add]').addEventListener('click', () => this.addBudget());
    part(root, '[data-discard]').addEventListener('click', () => this.discard());
    root.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.save();
    });
  }

  /** @param {Policy} policy  that the input begins with */
  take(policy) {
    this.input = inputOf(policy);
    this.dated = policy.level_expires_at ?? null;
  }

  /** Whether there is something to save. */
  get changed() {
    return this.policy !== null && JSON.stringify(this.input) !== JSON.stringify(inputOf(this.policy));
  }

  /** @param {string} scope */
  async show(scope) {
    this.scope = scope;
    this.say('');
    this.waiting?.();
    this.wider = null;
    const policy = await this.read();
    if (this.scope !== scope) return;
    this.policy = policy;
    this.take(policy);
    this.draw();
    await this.drawMatrix();
  }

  /** Takes what moves by itself, and what others have changed where nothing is put in here. */
  async refresh() {
    if (!this.policy || this.saving || this.waiting) return;
    const { scope, changed } = this;
    const policy = await this.read().catch(() => null);
    if (!policy || scope !== this.scope || this.saving || changed !== this.changed) return;
    const known = this.policy.revision === policy.revision && this.policy.level === policy.level;
    if (changed && !known) return; // saving it will tell
    this.policy = policy;
    if (!changed && !known) {
      this.take(policy);
      this.draw();
    }
    this.drawSpent();
    await this.drawMatrix();
  }

  /** @returns {Promise<Policy>} */
  read() {
    return ask(`/hux/v1/policy?${new URLSearchParams({ scope: this.scope })}`);
  }

  /**
   * @param {string} value
   * @param {string} name
   * @param {string} line
   */
  level(value, name, line) {
    const radio = element('input', { type: 'radio', name: 'level', value, id: `level-${value}`, 'aria-describedby': `level-${value}-line` });
    radio.addEventListener('change', () => {
      this.input.level = value;
      this.input.until = value === 'autonomous' && this.policy?.level !== 'autonomous' ? HOUR
        : value === 'autonomous' ? this.policy?.level_expires_at ?? null : null;
      this.drawUntil();
      this.drawSaving();
    });
    return element('label', { class: 'level', for: radio.id }, radio, element('b', {}, name), element('span', { id: `level-${value}-line`, class: 'muted' }, line));
  }

  draw() {
    for (const radio of this.levels.querySelectorAll('input')) radio.checked = radio.value === this.input.level;
    this.drawUntil();
    this.drawBudgets();
    this.drawSaving();
  }

  drawUntil() {
    const { level, until } = this.input;
    part(this.root, '[data-until-row]').hidden = level !== 'autonomous';
    const options = UNTIL.map(([text, ms]) => element('option', { value: String(ms) }, text));
    options.push(element('option', { value: '0' }, 'you change it'));
    if (this.dated !== null) {
      const date = new Date(this.dated);
      options.unshift(element('option', { value: 'as-is' }, `${date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })} (${roughly(date.valueOf() - Date.now())})`));
    }
    this.until.replaceChildren(...options);
    this.until.value = typeof until === 'string' ? 'as-is' : String(until ?? 0);
  }

  drawBudgets() {
    this.budgets.replaceChildren(...this.input.budgets.map((budget, index) => {
      const { name, unit } = BUDGETS[budget.kind] ?? { name: budget.kind, unit: '' };
      const window = WINDOWS[budget.window] ?? budget.window;
      const label = `${name} ${window}`;
      const limit = element('input', { type: 'number', min: '0', max: '1000000', step: '1', required: '', value: String(budget.limit), 'aria-label': `${label}, limit in ${unit}` });
      limit.addEventListener('input', () => {
        if (limit.validity.valid) this.input.budgets[index] = { ...budget, limit: limit.valueAsNumber };
        this.drawSaving();
      });
      const remove = element('button', { type: 'button', class: 'quiet', 'aria-label': `Remove: ${label}` }, 'Remove');
      remove.addEventListener('click', () => {
        this.input.budgets.splice(index, 1);
        this.drawBudgets();
        this.drawSaving();
        part(this.root, '[data-budget-add]').focus();
      });
      return element(
        'li', { 'data-budget': `${budget.kind} ${budget.window}` },
        element('span', { class: 'budget-name' }, label),
        element('span', { class: 'limit' }, limit, ` ${unit}`),
        element('meter', { min: '0', hidden: '', 'aria-label': `Spent of ${label}` }),
        element('span', { class: 'muted', 'data-spent': '' }),
        remove,
      );
    }));
    this.drawSpent();
    this.drawInherited();
    const taken = (/** @type {string} */ kind, /** @type {string} */ window) => this.input.budgets.some((b) => b.kind === kind && b.window === window);
    part(this.root, '[data-add-budget]').hidden = Object.keys(BUDGETS).every((kind) => Object.keys(WINDOWS).every((window) => taken(kind, window)));
  }

  /** The budgets that apply until something is saved here. */
  drawInherited() {
    for (const row of this.budgets.querySelectorAll('[data-inherited]')) row.remove();
    this.budgets.append(...(this.wider?.budgets ?? []).map(({ kind, window, limit }) => {
      const { name, unit } = BUDGETS[kind] ?? { name: kind, unit: '' };
      return element(
        'li', { class: 'muted', 'data-inherited': '' },
        element('span', { class: 'budget-name' }, `${name} ${WINDOWS[window] ?? window}`),
        element('span', {}, `${limit} ${unit}`),
        element('span', {}, 'from Everywhere'),
      );
    }));
  }

  /** How much of each budget is spent. */
  drawSpent() {
    for (const { kind, window, limit, spent, resets_at: resets } of this.policy?.budgets ?? []) {
      const row = this.budgets.querySelector(`[data-budget="${kind} ${window}"]`);
      const meter = row?.querySelector('meter');
      const text = row?.querySelector('[data-spent]');
      if (!meter || !text) continue;
      if (window === 'run') continue; // no run is named, so there is no count to tell
      meter.hidden = false;
      Object.assign(meter, { max: Math.max(1, limit), high: limit * 0.8, optimum: 0, value: limit === 0 ? 1 : Math.min(spent, limit) });
      const { unit } = BUDGETS[kind] ?? { unit: '' };
      const when = resets ? `, begins anew at ${whenText(new Date(resets))}` : '';
      text.textContent = `${spent} of ${limit} ${unit} spent${when}`;
    }
  }

  addBudget() {
    const [kind, window] = [this.kind.value, this.window.value];
    const field = () => /** @type {HTMLElement | null} */ (this.budgets.querySelector(`[data-budget="${kind} ${window}"] input`));
    if (!field()) {
      this.input.budgets.push({ kind, window, limit: kind === 'seconds' ? 600 : 50 });
      this.drawBudgets();
      this.drawSaving();
    }
    field()?.focus();
  }

  drawSaving() {
    part(this.root, '[data-saving]').hidden = !this.changed;
    const set = this.scope === 'user' || (this.policy?.revision ?? 0) > 0;
    this.inherits.hidden = set;
    this.inherits.textContent = 'Nothing is set here, so what you have set more widely applies. What you save here replaces all of it here, budgets included.';
  }

  /** The matrix is that of what applies: where nothing is set, of the wider scope. */
  async drawMatrix() {
    let policy = this.policy;
    if (!policy) return;
    if (policy.revision === 0 && this.scope !== 'user') {
      const wider = await ask('/hux/v1/policy?scope=user').catch(() => null);
      if (policy !== this.policy) return;
      this.wider = wider;
      policy = wider ?? policy;
    } else {
      this.wider = null;
    }
    this.drawInherited();
    const level = policy?.level === 'autonomous' && policy.level_expires_at && Date.parse(policy.level_expires_at) <= Date.now() ? 'ask_first' : policy?.level ?? '';
    const rows = Object.entries(policy?.effective ?? {}).sort(([a], [b]) => order(a) - order(b)).map(([capability, { effect, reason }]) => element(
      'tr', { 'data-capability': capability },
      element('th', { scope: 'row' }, CAPABILITIES[capability]?.name ?? capability),
      element('td', {}, element('span', { class: 'pill', 'data-effect': effect }, EFFECTS[effect] ?? effect)),
      element('td', { class: 'muted' }, reasonText(reason, level)),
    ));
    this.matrix.replaceChildren(...rows);
  }

  discard() {
    this.waiting?.();
    if (this.policy) this.take(this.policy);
    this.say('');
    this.draw();
  }

  async save() {
    if (!this.policy || this.saving) return;
    this.waiting?.();
    this.saving = true;
    this.say('Saving…');
    const { scope, policy, input } = this;
    const { level, until, budgets } = input;
    const body = /** @type {PolicyPut} */ (typeof until === 'number' ? { level, level_expires_in_ms: until, budgets } : { level, level_expires_at: until, budgets });
    const tag = policy.revision === 0 ? `"${scope}:0"` : `"${policy.id}:${policy.revision}"`;
    try {
      const saved = await ask(`/hux/v1/policy?${new URLSearchParams({ scope })}`, { method: 'PUT', headers: { 'If-Match': tag }, body });
      if (scope !== this.scope) return;
      this.policy = saved;
      this.take(saved);
      this.draw();
      this.say(`Saved: ${levelName(saved.level)}.`);
      await this.drawMatrix();
    } catch (error) {
      if (scope === this.scope) await this.failed(error);
    } finally {
      this.saving = false;
    }
  }

  /** @param {unknown} error */
  async failed(error) {
    if (!(error instanceof Refused) || error.passing) {
      this.say('The router did not answer, so it is not known whether this was saved. Save again.');
    } else if (error.status === 412) {
      const before = this.policy;
      this.policy = await this.read().catch(() => before);
      const now = this.policy;
      this.drawSpent();
      this.drawSaving();
      if (now && before) this.say(`Somebody changed this meanwhile: ${difference(before, now)}. Your input is kept. Save again to put it in place of theirs, or discard it.`);
      await this.drawMatrix();
    } else if (error.code === 'recent_sign_in_required') {
      const { link, stop } = signInAgain(() => {
        this.waiting = null;
        void this.save();
      });
      this.waiting = () => {
        stop();
        this.waiting = null;
        this.say('');
      };
      this.say('This allows more, and needs a sign-in of the last 15 minutes. Sign in again, and this is saved as you have put it in.', link);
      link.focus();
    } else {
      this.say(error.status === 401 ? 'You are signed out. Sign in again in another tab; your input stays here.' : error.message);
    }
  }

  /**
   * @param {string} text  "" for nothing
   * @param {Node[]} more
   */
  say(text, ...more) {
    this.saying.hidden = text === '';
    this.saying.replaceChildren(text, ...more.flatMap((node) => [' ', node]));
  }
}

/**
 * @param {Policy} policy
 * @returns {Input}
 */
function inputOf({ level, level_expires_at: until, budgets }) {
  return { level, until, budgets: budgets.map(({ kind, window, limit }) => ({ kind, window, limit })) };
}

/** @param {string} capability */
function order(capability) {
  const at = Object.keys(CAPABILITIES).indexOf(capability);
  return at < 0 ? Infinity : at;
}

/**
 * What has changed, in words.
 *
 * @param {Policy} before
 * @param {Policy} now
 */
function difference(before, now) {
  /** @type {string[]} */
  const parts = [];
  if (before.level !== now.level) parts.push(`the level is now ${levelName(now.level)}, not ${levelName(before.level)}`);
  else if (before.level_expires_at !== now.level_expires_at) parts.push('the end of the level has moved');
  const told = (/** @type {Policy} */ { budgets }) => budgets.map((b) => `${BUDGETS[b.kind]?.name ?? b.kind} ${WINDOWS[b.window] ?? b.window}: ${b.limit}`).join(', ');
  if (told(before) !== told(now)) parts.push(`the budgets are now ${told(now) || 'none'}`);
  return parts.join('; ') || 'it was saved anew, as it was';
}
