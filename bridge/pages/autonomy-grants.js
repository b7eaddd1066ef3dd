// The grants of the page Autonomy: what each is for, exactly, and until when;
// taking one back, and forbidding a tool by hand.

import { signInAgain } from './again.js';
import { ask, Refused } from './api.js';
import { valueText } from './approval-card.js';
import { CAPABILITIES, doesText, matchText, roughly } from './autonomy-words.js';
import { element, part, plain } from './dom.js';
import { kindText } from './events.js';

const DAY = 86_400_000; // ms

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('../hux.d.ts').Grant} Grant */
/** @typedef {import('../hux.d.ts').GrantCreate} GrantCreate */

/** @type {Record<string, string>} */
const STATES = { active: 'In force', expired: 'Expired', revoked: 'Taken back', spent: 'Used up' };

export class Grants {
  /** @param {Map<string, string>} titles  of conversations */
  constructor(titles) {
    this.titles = titles;
    this.list = part(document, '[data-grants]');
    this.note = part(document, '[data-grants-note]');
    this.more = part(document, '[data-more-grants]');
    this.ended = /** @type {HTMLInputElement} */ (part(document, '[data-ended]'));
    this.form = /** @type {HTMLFormElement} */ (part(document, '[data-forbid]'));
    this.where = /** @type {HTMLSelectElement} */ (part(document, '[data-forbid-where]'));
    this.saying = part(document, '[data-forbid-saying]');
    /** @type {string | null} */
    this.next = null;
    this.ended.addEventListener('change', () => void this.load().catch((error) => this.failed(error)));
    this.more.addEventListener('click', () => void this.load(this.next).catch((error) => this.failed(error)));
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.forbid();
    });
  }

  /** @param {import('./api.js').Conversation[]} conversations */
  offer(conversations) {
    for (const { id, title, state } of conversations) if (state !== 'forgotten') this.where.append(element('option', { value: id }, `In ${plain(title)}`));
  }

  /** @param {string | null} [cursor]  null for the newest */
  async load(cursor = null) {
    const query = new URLSearchParams({ limit: '50', ...(this.ended.checked ? {} : { state: 'active' }), ...(cursor ? { cursor } : {}) });
    /** @type {{items: Grant[], next: string | null}} */
    const { items, next } = await ask(`/hux/v1/grants?${query}`);
    if (cursor === null) this.list.replaceChildren();
    this.list.append(...items.map((grant) => this.row(grant)));
    this.next = next;
    this.more.hidden = next === null;
    this.tell();
  }

  tell() {
    const none = this.list.childElementCount === 0;
    this.note.hidden = !none;
    if (none) this.note.textContent = this.ended.checked ? 'There are none.' : 'None in force. A grant comes of allowing something for a session or always, or of forbidding it here.';
  }

  /** @param {unknown} error */
  failed(error) {
    this.note.hidden = false;
    this.note.textContent = error instanceof Refused ? error.message : 'The router did not answer. Try again.';
  }

  /**
   * @param {Grant} grant
   * @returns {HTMLElement}
   */
  row(grant) {
    const { effect, match, scope, state, uses, origin } = grant;
    const where = scope.conversation_id ? `in ${plain(this.titles.get(scope.conversation_id) ?? 'one conversation')}${scope.session_id ? ', in that session' : ''}` : 'everywhere';
    const left = Date.parse(grant.expires_at) - Date.now();
    const until = new Date(grant.expires_at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
    const facts = [
      state === 'active' ? `until ${until} (${roughly(left)})` : `${effect === 'deny' ? 'was forbidden' : 'was allowed'} until ${until} at most`,
      uses.count === 0 ? 'not used yet' : uses.count === 1 ? 'used once' : `used ${uses.count} times`,
      ...(origin.manual ? ['set by hand'] : []),
    ];
    const row = element(
      'li', { class: 'grant', 'data-grant': grant.id, 'data-state': state },
      state === 'active' ? element('span', { class: 'pill', 'data-effect': effect }, effect === 'deny' ? 'Forbidden' : 'Allowed')
        : element('span', { class: 'pill', 'data-state': 'off' }, STATES[state] ?? kindText(state)),
      element('div', { class: 'what' },
        element('p', {}, element('b', {}, plain(match.tool)), ` ${plain(matchText(match))}, ${where}`),
        element('p', { class: 'muted' }, `To ${doesText(grant)}; ${facts.join('; ')}.`),
        ...this.exactly(grant)),
    );
    if (state === 'active') {
      const revoke = element('button', { type: 'button', 'aria-label': `Take back: ${match.tool}` }, 'Take back');
      revoke.addEventListener('click', () => void this.revoke(grant, row, revoke));
      row.append(revoke);
    }
    return row;
  }

  /**
   * The call that a grant came of, shown on demand: a hash tells nobody what it
   * is of.
   *
   * @param {Grant} grant
   */
  exactly({ match, origin }) {
    if (!origin.approval_id && !match.args_hash) return [];
    const body = element('div', { class: 'exactly' });
    const made = element('details', {}, element('summary', {}, 'What exactly'), body);
    made.addEventListener('toggle', async () => {
      if (!made.open || body.childElementCount > 0) return;
      const rows = match.args_hash ? [fact('hash', match.args_hash)] : [];
      try {
        /** @type {Approval | null} */
        const approval = origin.approval_id ? await ask(`/hux/v1/approvals/${origin.approval_id}`) : null;
        for (const [name, value] of Object.entries(approval?.request.args_redacted ?? {}).reverse()) {
          rows.unshift(fact(name, valueText(value)));
        }
      } catch (error) {
        rows.push(element('p', { class: 'muted' }, error instanceof Refused ? error.message : 'The router did not answer.'));
      }
      body.replaceChildren(...rows);
    });
    return [made];
  }

  /**
   * @param {Grant} grant
   * @param {HTMLElement} row
   * @param {HTMLButtonElement} button
   */
  async revoke(grant, row, button) {
    button.disabled = true;
    try {
      const revoked = await ask(`/hux/v1/grants/${grant.id}/revoke`, { method: 'POST', body: {} });
      const after = this.row(revoked);
      row.replaceWith(after);
      after.tabIndex = -1;
      after.focus();
    } catch (error) {
      button.disabled = false;
      if (error instanceof Refused && error.code === 'recent_sign_in_required') {
        const { link } = signInAgain(() => {
          this.note.hidden = true;
          void this.revoke(grant, row, button);
        });
        this.note.hidden = false;
        this.note.replaceChildren('Taking a denial back allows more, and needs a sign-in of the last 15 minutes. ', link);
        link.focus();
      } else if (error instanceof Refused && error.status === 409) await this.load().catch((again) => this.failed(again));
      else this.failed(error);
    }
  }

  async forbid() {
    const value = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (part(this.form, `[data-forbid-${name}]`)).value.trim();
    const [tool, target, conversation] = [value('tool'), value('target'), value('where')];
    if (tool === '') return;
    /** @type {GrantCreate} */
    const body = {
      capability: 'write',
      capabilities: /** @type {GrantCreate['capabilities']} */ (Object.keys(CAPABILITIES)),
      effect: 'deny',
      duration: 'always',
      match: { tool, ...(target ? { target } : {}) },
      scope: conversation ? { conversation_id: conversation } : {},
      expires_in_ms: Number(value('for')) * DAY,
    };
    try {
      const made = await ask('/hux/v1/grants', { method: 'POST', headers: { 'Idempotency-Key': crypto.randomUUID() }, body });
      this.list.prepend(this.row(made));
      this.tell();
      this.form.reset();
      this.say(`${made.match.tool} is forbidden from now on.`);
    } catch (error) {
      this.say(error instanceof Refused ? error.message : 'The router did not answer. Try again.');
    }
  }

  /** @param {string} text */
  say(text) {
    this.saying.hidden = false;
    this.saying.textContent = text;
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function fact(name, value) {
  return element('div', {}, element('span', { class: 'muted' }, plain(name)), element('code', { dir: 'ltr' }, plain(value)));
}
