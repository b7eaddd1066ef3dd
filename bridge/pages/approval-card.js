// A card: a call that waits for a decision, exactly what would run, what each
// choice would grant and for how long, and the time that is left.

import { doesText, matchText, roughly, whenText } from './autonomy-words.js';
import { routerNow } from './api.js';
import { element, plain } from './dom.js';
import { durationText } from './events.js';

const SESSION_HOURS = 12; // contracts 2.7
const ALWAYS_MS = 30 * 24 * 60 * 60 * 1_000;
const NOTE_AFTER = 1_000; // ms that a card must be covered or out of sight to say so by itself
const LINE = 60; // characters
const LEAST = 72; // px of what would run that stay in sight, however little room there is

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('./approvals.js').Outcome} Outcome */
/** @typedef {import('./guard.js').Refusal} Refusal */

/** @type {Record<string, {label: string, key: string}>} in the order in which they stand */
const CHOICES = {
  once: { label: 'Allow once', key: 'o' },
  deny: { label: 'Deny', key: 'd' },
  session: { label: 'Allow in this session', key: 's' },
  always: { label: 'Allow always', key: 'a' },
};

/** @type {Record<Refusal, string>} */
const WHY_NOT = {
  unable: 'This browser can’t tell whether something lies over this card, so it is decided in a window of its own.',
  covered: 'Something lies over this card, so it takes no decision here.',
  unseen: 'Scroll to see all of it.',
  early: 'Nothing was decided: this had only just appeared or moved. Look at it, then press again.',
};

export class ApprovalCard {
  /**
   * @param {Approval} approval
   * @param {object} options
   * @param {(card: ApprovalCard, choice: string, event: UIEvent) => void} options.chosen
   * @param {boolean} options.framed  whether a page of ours is in another's
   * @param {boolean} options.able    whether it may decide here at all
   * @param {string} [options.where]  names the conversation where cards of several stand together
   */
  constructor(approval, { chosen, framed, able, where }) {
    this.approval = approval;
    this.expires = Date.parse(approval.expires_at);
    this.lives = this.expires - Date.parse(approval.created_at);
    this.busy = false;
    this.keyed = false; // whether the keyboard has chosen
    this.framed = framed;
    this.noteTimer = 0;
    const { request, id } = approval;
    const title = element('h3', { id: `${id}-title` }, 'May it use ', element('b', {}, request.tool), '?');
    this.left = element('span', { class: 'time-left' });
    this.note = element('p', { class: 'notice', role: 'alert', hidden: '' });
    this.head = element(
      'div', { class: 'card-top' },
      element('div', { class: 'decision-head' }, title, this.left),
      ...(where ? [element('p', { class: 'muted' }, 'In ', plain(where))] : []),
      element('p', { id: `${id}-does`, class: 'does' }, `It would ${doesText(request)}.`),
    );
    this.box = element('div', { class: 'call-box', role: 'group', 'aria-label': 'What would run' }, this.call(), ...this.hidden());
    this.choices = element('div', { class: 'choices', role: 'toolbar', 'aria-label': 'Your decision' });
    this.help = element('p', { class: 'help muted' }, 'Keys: ', request.choices.length > 2 ? 'O, D, S or A' : 'O or D', ', then Enter.');
    this.root = element(
      'article',
      { class: 'decision', 'data-approval': id, tabindex: '-1', 'aria-labelledby': `${id}-title`, 'aria-describedby': `${id}-does` },
      this.head,
      this.note,
      this.box,
      this.choices,
      ...(able ? [this.help] : []),
    );
    if (able) {
      for (const choice of Object.keys(CHOICES)) if (request.choices.some((c) => c === choice)) this.choices.append(this.button(choice, chosen));
    } else {
      this.note.hidden = false;
      this.note.textContent = WHY_NOT.unable;
      this.choices.append(this.ownWindow('button primary', 'Decide in its own window'));
    }
    this.root.addEventListener('keydown', (event) => this.key(event));
    this.tick();
  }

  /** Exactly what would run. */
  call() {
    const { request } = this.approval;
    const rows = Object.entries(request.args_redacted).map(([name, value]) => row(plain(name), valueText(value)));
    const target = request.target ?? '';
    if (target !== '' && !Object.values(request.args_redacted).includes(target)) rows.push(row('target', target));
    if (rows.length === 0) return element('p', { class: 'call muted' }, 'Without arguments.');
    return element('dl', { class: 'call' }, ...rows);
  }

  /** That something is hidden of the call, where it is. */
  hidden() {
    const [, count] = this.approval.request.summary.match(/\(([0-9]+) characters? hidden\)$/) ?? [];
    if (!count) return [];
    return [element('p', { class: 'words' }, `Hidden, since it looks like a secret: ${count} characters.`)];
  }

  /**
   * @param {string} choice
   * @param {(card: ApprovalCard, choice: string, event: UIEvent) => void} chosen
   */
  button(choice, chosen) {
    const { label, key } = CHOICES[choice] ?? { label: choice, key: '' };
    const button = element(
      'button',
      { type: 'button', class: `choice ${choice}`, 'data-choice': choice, 'aria-keyshortcuts': key, tabindex: choice === 'once' ? '0' : '-1' },
      element('span', { class: 'label' }, label, element('kbd', { 'aria-hidden': 'true' }, key.toUpperCase())),
      element('span', { class: 'grants' }, this.grants(choice)),
      element('span', { class: 'grants in-short' }, this.inShort(choice)),
    );
    button.addEventListener('click', (event) => chosen(this, choice, event));
    return button;
  }

  /** @param {string} choice  what it would grant, and for how long */
  grants(choice) {
    const { request } = this.approval;
    const what = plain(`${request.tool} ${matchText(request.grant_match)}`);
    switch (choice) {
      case 'once': return request.choices.some((c) => c === 'always') ? 'This call, and no other.' : 'This call, and no other. A deployment is asked about each time.';
      case 'session': return `${what}, in this conversation, ${SESSION_HOURS} hours at most.`;
      case 'always': return `${what}, everywhere, until ${whenText(new Date(routerNow() + ALWAYS_MS))}. Listed under Autonomy, to be taken back.`;
      default: return 'It does not run, and the agent is told.';
    }
  }

  /** @param {string} choice  the same where there is little room */
  inShort(choice) {
    const { grant_match: match } = this.approval.request;
    const what = match.target ? 'This target' : match.args_hash ? 'These arguments' : 'Any arguments';
    switch (choice) {
      case 'once': return 'This call only.';
      case 'session': return `${what}, here, ${SESSION_HOURS} hours.`;
      case 'always': return `${what}, everywhere, until ${whenText(new Date(routerNow() + ALWAYS_MS))}.`;
      default: return 'It does not run.';
    }
  }

  /**
   * Takes no more room than there is: what would run scrolls, and where that is
   * not enough, the words of the choices are short.
   *
   * @param {number} room  px
   */
  fit(room) {
    this.root.classList.remove('compact');
    this.box.style.maxHeight = '';
    let over = this.root.offsetHeight - room;
    if (over > 0 && this.box.offsetHeight - over < LEAST) {
      this.root.classList.add('compact');
      over = this.root.offsetHeight - room;
    }
    if (over > 0) this.box.style.maxHeight = `${Math.max(LEAST, this.box.offsetHeight - over)}px`;
    if (this.box.scrollHeight > this.box.clientHeight + 1) this.box.tabIndex = 0;
    else this.box.removeAttribute('tabindex');
  }

  /**
   * @param {string} look  classes
   * @param {string} text
   */
  ownWindow(look, text) {
    const link = element('a', { class: look, href: `/hux/api/ui/decisions#${this.approval.conversation_id}`, target: '_blank', rel: 'noopener' }, text);
    return link;
  }

  /**
   * A letter or an arrow goes to its choice; Enter or the space bar then makes
   * it. Tab reaches the first one alone, so that none that lasts is entered by
   * the way.
   *
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
    const choice = Object.keys(CHOICES).find((name) => CHOICES[name]?.key === event.key.toLowerCase());
    const all = this.buttons();
    const at = all.findIndex((b) => b === document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const button = step !== undefined && at >= 0 ? all.at((at + step) % all.length) : all.find((b) => b.dataset.choice === choice);
    if (!button) return;
    event.preventDefault();
    button.focus();
  }

  /** Shows the time that is left. @returns {number} it, in ms */
  tick() {
    const left = this.expires - routerNow();
    const text = left <= 0 ? 'Time is up' : left > 3_600_000 ? `${roughly(left)} left` : `${durationText(Math.max(left, 10_000)).replace(/ 0 s$/, '')} left`;
    const shown = left > 0 && left < 10_000 ? `${Math.ceil(left / 1_000)}\u00a0s left` : text;
    if (this.left.textContent !== shown) this.left.textContent = shown;
    this.left.classList.toggle('urgent', left < 30_000);
    this.left.style.setProperty('--left', String(Math.max(0, Math.min(1, left / this.lives))));
    if (left <= 0) this.root.classList.add('over');
    return left;
  }

  /**
   * Shows whether a decision would be taken now.
   *
   * @param {Refusal | null} refusal
   */
  arm(refusal) {
    if (this.root.dataset.guard === (refusal ?? 'armed')) return;
    this.root.dataset.guard = refusal ?? 'armed';
    clearTimeout(this.noteTimer);
    for (const button of this.buttons()) {
      if ((refusal && button.dataset.choice !== 'deny') || this.busy) button.setAttribute('aria-disabled', 'true');
      else button.removeAttribute('aria-disabled');
    }
    const told = this.note.dataset.guard;
    if (told === 'covered' || told === 'unseen') this.say('');
    if (refusal === 'covered' || refusal === 'unseen') {
      this.noteTimer = setTimeout(() => { if (this.note.hidden) this.refuse(refusal); }, NOTE_AFTER);
    }
  }

  /** @param {Refusal} refusal */
  refuse(refusal) {
    const opens = this.framed && refusal !== 'early' ? [this.ownWindow('', 'Open it in its own window')] : [];
    this.say(refusal === 'unseen' && this.framed ? 'Scroll to see all of it, or' : WHY_NOT[refusal], ...opens);
    const link = this.note.querySelector('a');
    if (refusal === 'unseen' && link) link.textContent = 'open it in its own window';
    this.note.dataset.guard = refusal;
  }

  /**
   * Says something on the card; nothing for "".
   *
   * @param {string} text
   * @param {Node[]} more
   */
  say(text, ...more) {
    delete this.note.dataset.guard;
    this.note.hidden = text === '';
    this.note.replaceChildren(text, ...more.flatMap((node) => [' ', node]));
  }

  /** @param {boolean} busy  while the router is asked */
  wait(busy) {
    this.busy = busy;
    this.root.setAttribute('aria-busy', String(busy));
    for (const button of this.buttons()) {
      if (busy) button.setAttribute('aria-disabled', 'true');
      else button.removeAttribute('aria-disabled');
    }
  }

  /** @returns {HTMLElement[]} */
  buttons() {
    return Array.from(this.choices.querySelectorAll('[data-choice]'), (button) => /** @type {HTMLElement} */ (button));
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function row(name, value) {
  return element('div', {}, element('dt', {}, name), element('dd', { dir: 'ltr' }, plain(value)));
}

/**
 * An argument as text: what is short, in a line.
 *
 * @param {unknown} value
 */
export function valueText(value) {
  if (typeof value === 'string') return value;
  const line = JSON.stringify(value);
  return line.length <= LINE ? line : JSON.stringify(value, null, 2);
}

/**
 * How one ended, in a line.
 *
 * @param {Approval} approval
 * @param {Outcome} outcome
 */
export function outcomeLine({ request }, { status, choice }) {
  const how =
    status === 'approved' ? { once: 'Allowed once', session: 'Allowed in this session', always: 'Allowed always' }[choice ?? ''] ?? 'Allowed'
    : status === 'denied' ? 'Denied'
    : status === 'expired' ? 'Expired: nobody decided in time'
    : status === 'cancelled' ? 'No longer asked: the run was stopped or is over'
    : 'Decided';
  return `${how}: ${request.tool}`;
}
