// A card: a call that waits for a decision, exactly what would run, what each
// choice would grant and for how long, and the time that is left.

import { doesText, matchText, roughly, whenText } from './autonomy-words.js';
import { routerNow } from './api.js';
import { element, plain } from './dom.js';
import { durationText } from './events.js';
import { CHOICE_TEXT } from './outcome-line.js';

const SESSION_HOURS = 12; // contracts 2.7
const ALWAYS_MS = 30 * 24 * 60 * 60 * 1_000;
const NOTE_AFTER = 1_000; // ms that a card must be covered or out of sight to say so by itself
const LINE = 60; // characters
const LEAST = 60; // px of what would run that stay in sight, however little room there is

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('./guard.js').Refusal} Refusal */
/** @typedef {import('./presses.js').Miss} Miss */

/**
 * The choices and their keys, in the order in which they stand: what allows,
 * from the least, and what denies beside all of it, so that no shift up or down
 * puts one in the other's place.
 *
 * @type {Record<string, string>}
 */
const CHOICES = { once: 'o', session: 's', always: 'a', deny: 'd' };

/** @type {Record<Miss, string>} */
const WHY_NOT = {
  unable: 'This browser can’t tell whether something lies over this card, so it is decided in a window of its own.',
  covered: 'Something lies over this card, so it takes no decision here.',
  unseen: 'Scroll to see all of it.',
  early: 'Nothing was decided: this had only just appeared or moved. Look at it, then press again.',
  slipped: 'Nothing was decided: you let go elsewhere than where you pressed. Press again.',
};
const NOT_YET = 'Not yet: this has only just appeared or moved.';

export class ApprovalCard {
  /**
   * @param {Approval} approval
   * @param {object} options
   * @param {boolean} options.framed  whether a page of ours is in another's
   * @param {boolean} options.able    whether it may decide here at all
   * @param {string} [options.where]  names the conversation where cards of several stand together
   */
  constructor(approval, { framed, able, where }) {
    this.approval = approval;
    this.expires = Date.parse(approval.expires_at);
    this.lives = this.expires - Date.parse(approval.created_at);
    this.busy = false;
    /** @type {string | undefined} what was chosen here, as far as it may count */
    this.chosen = undefined;
    this.keyed = false; // whether the keyboard has chosen
    /** @type {import('./approvals.js').Outcome | undefined} how it ended while the router was asked */
    this.ended = undefined;
    this.framed = framed;
    this.noteTimer = 0;
    const { request, id } = approval;
    const title = element('h3', { id: `${id}-title` }, 'May it use ', element('b', {}, request.tool), '?');
    this.left = element('span', { class: 'time-left' });
    this.head = element(
      'div', { class: 'card-top' },
      element('div', { class: 'decision-head' }, title, this.left),
      ...(where ? [element('p', { class: 'muted' }, 'In ', plain(where))] : []),
      element('p', { id: `${id}-does`, class: 'does' }, `It would ${doesText(request)}.`),
    );
    this.box = element('div', { class: 'call-box', role: 'group', 'aria-label': 'What would run' }, this.call(), ...this.hidden());
    this.offered = Object.keys(CHOICES).filter((choice) => request.choices.some((c) => c === choice));
    this.choices = element('div', { class: 'choices', role: 'toolbar', 'aria-label': 'Your decision' });
    this.instead = element('div', { class: 'actions instead' }); // of the choices, in their place
    this.keys = `Keys: ${this.offered.map((choice) => CHOICES[choice]?.toUpperCase()).join(', ')}, then Enter.`;
    this.help = element('p', { class: 'help muted' });
    this.note = element('p', { class: 'note', role: 'alert' });
    // The room for what there may be to say is there from the start, so that nothing moves.
    const longest = element('p', { class: 'longest', 'aria-hidden': 'true', 'data-text': WHY_NOT.early });
    this.root = element(
      'article',
      { class: 'decision', 'data-approval': id, tabindex: '-1', 'aria-labelledby': `${id}-title`, 'aria-describedby': `${id}-does` },
      this.head,
      this.box,
      element('div', { class: 'answer' }, this.choices, this.instead),
      element('div', { class: 'saying' }, longest, this.help, this.note),
    );
    this.choices.style.setProperty('--rows', String(this.offered.length - 1));
    if (able) {
      this.choices.append(...this.offered.map((choice) => this.button(choice)));
    } else {
      this.say(WHY_NOT.unable);
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

  /** @param {string} choice */
  button(choice) {
    const key = CHOICES[choice] ?? '';
    return element(
      'button',
      { type: 'button', class: `choice ${choice}`, 'data-choice': choice, 'aria-keyshortcuts': key, tabindex: choice === 'once' ? '0' : '-1' },
      element('span', { class: 'label' }, CHOICE_TEXT[choice] ?? choice, element('kbd', { 'aria-hidden': 'true' }, key.toUpperCase())),
      element('span', { class: 'grants' }, this.grants(choice)),
      element('span', { class: 'grants in-short' }, this.inShort(choice)),
    );
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
    if (event.key === 'Enter' && event.target === this.root && this.choices.firstElementChild) {
      this.say(`Nothing was decided: none of the choices is marked. ${this.keys}`);
      return;
    }
    const all = this.buttons();
    const at = all.findIndex((b) => b === document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const button = step !== undefined && at >= 0 ? all.at((at + step) % all.length) : all.find((b) => CHOICES[b.dataset.choice ?? ''] === event.key.toLowerCase());
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
    this.mark();
    this.help.textContent = refusal === 'early' ? NOT_YET : this.keys;
    this.help.classList.toggle('keys', refusal !== 'early');
    const told = this.note.dataset.miss;
    if (told === 'covered' || told === 'unseen') this.say('');
    if (refusal === 'covered' || refusal === 'unseen') {
      this.noteTimer = setTimeout(() => { if (this.note.textContent === '') this.miss(refusal); }, NOTE_AFTER);
    }
  }

  /** Marks the choices that would count for nothing now. */
  mark() {
    const { guard } = this.root.dataset;
    for (const button of this.buttons()) {
      const off = this.busy || (guard !== 'armed' && (guard === 'early' || button.dataset.choice !== 'deny'));
      if (off) button.setAttribute('aria-disabled', 'true');
      else button.removeAttribute('aria-disabled');
    }
  }

  /**
   * Says that a press counted for nothing, and why.
   *
   * @param {Miss} why
   */
  miss(why) {
    if (this.busy) {
      this.say(`You chose “${CHOICE_TEXT[this.chosen ?? '']}”. It is on its way; nothing else was decided.`);
      return;
    }
    const opens = this.framed && (why === 'covered' || why === 'unseen') ? [this.ownWindow('', 'Open it in its own window')] : [];
    this.say(why === 'unseen' && this.framed ? 'Scroll to see all of it, or' : WHY_NOT[why], ...opens);
    const link = this.note.querySelector('a');
    if (why === 'unseen' && link) link.textContent = 'open it in its own window';
    this.note.dataset.miss = why;
  }

  /**
   * Says something on the card; nothing for "".
   *
   * @param {string} text
   * @param {Node[]} more
   */
  say(text, ...more) {
    delete this.note.dataset.miss;
    this.root.classList.toggle('says', text !== '');
    this.note.replaceChildren(text, ...more.flatMap((node) => [' ', node]));
    this.note.scrollTop = 0;
  }

  /**
   * Says what was chosen, while the router is asked.
   *
   * @param {string} choice
   */
  choose(choice) {
    this.busy = true;
    this.chosen = choice;
    this.root.setAttribute('aria-busy', 'true');
    this.offer();
    this.mark();
    this.say(`You chose “${CHOICE_TEXT[choice]}”. Telling the router…`);
  }

  /** The router has answered, or has not. */
  answered() {
    this.busy = false;
    this.root.removeAttribute('aria-busy');
    this.mark();
  }

  /**
   * Takes choices anew, after one that did not count.
   *
   * @param {string} text  says why
   */
  again(text) {
    const focused = this.instead.contains(document.activeElement);
    this.chosen = undefined;
    this.offer();
    this.say(text);
    if (focused) this.buttons()[0]?.focus();
  }

  /**
   * Puts actions in the place of the choices; without any, the choices come back.
   *
   * @param {HTMLElement[]} actions
   */
  offer(...actions) {
    this.instead.replaceChildren(...actions);
    this.choices.style.visibility = actions.length > 0 ? 'hidden' : '';
    actions[0]?.focus();
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
