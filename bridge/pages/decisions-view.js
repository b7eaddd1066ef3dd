// The cards of a page: all that waits, the oldest first, each in step with the
// router wherever it is decided.

import { alarmElement, alarmsOf } from './alarm.js';
import { ask, Refused, routerNow } from './api.js';
import { signInAgain } from './again.js';
import { ApprovalCard } from './approval-card.js';
import { element, part } from './dom.js';
import { Guard } from './guard.js';
import { CHOICE_TEXT, OutcomeLine } from './outcome-line.js';
import { Presses } from './presses.js';

const SAY_AT = [60_000, 30_000, 10_000]; // ms left at which a screen reader is told
const LATE = 2_000; // ms after the end of its time that the router is asked about a card

const ALARMED_FOR = 60 * 60 * 1_000; // ms after an alarm in which a page that is opened shows it

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('../hux.d.ts').ApprovalDecide} ApprovalDecide */
/** @typedef {import('./approvals.js').Outcome} Outcome */
/** @typedef {import('./approvals.js').Approvals} Approvals */
/** @typedef {import('./guard.js').Press} Press */
/** @typedef {import('./presses.js').Miss} Miss */
/** @typedef {import('./stream.js').HuxEvent} HuxEvent */

export class Decisions {
  /**
   * @param {HTMLElement} root  the page's section, of the template "decisions"
   * @param {object} options
   * @param {() => Approvals} options.approvals
   * @param {boolean} [options.single]  one card at a time
   * @param {(conversation: string) => string | undefined} [options.where]  a conversation's name
   * @param {(count: number) => void} [options.counted]
   * @param {() => number} [options.room]  px that the section may take
   * @param {() => void} [options.left]  the keyboard has decided the last one
   */
  constructor(root, { approvals, single = false, where, counted, room = () => window.innerHeight, left }) {
    this.root = root;
    this.approvals = approvals;
    this.single = single;
    this.where = where;
    this.counted = counted;
    this.room = room;
    this.left = left;
    this.title = part(root, '[data-decisions-title]');
    this.list = part(root, '[data-cards]');
    this.alarms = part(root, '[data-alarms]');
    /** @type {Set<string>} the runs whose alarms were shown */
    this.alarmed = new Set();
    this.said = part(root, '[data-decided]');
    this.next = part(root, '[data-next]');
    /** @type {Map<string, ApprovalCard>} */
    this.cards = new Map();
    /** @type {Map<string, OutcomeLine>} of cards that have ended */
    this.lines = new Map();
    /** @type {Approval[]} */
    this.pending = [];
    this.current = ''; // of pending, in a page that shows one at a time
    this.guard = new Guard(() => this.arm());
    this.presses = new Presses(this.guard, {
      chosen: (root, press) => this.choose(root, press),
      missed: (root, miss) => this.miss(root, miss),
    });
    this.next.addEventListener('click', () => {
      const at = this.pending.findIndex(({ id }) => id === this.current);
      this.current = this.pending[(at + 1) % this.pending.length]?.id ?? '';
      this.draw();
      this.list.querySelector('article')?.focus();
    });
    const sizes = new ResizeObserver(() => this.fit());
    for (const sized of [root, document.body]) sizes.observe(sized);
    setInterval(() => { if (!document.hidden) this.tick(); }, 1_000);
  }

  /**
   * @param {Approval[]} pending
   * @param {Map<string, Outcome>} settled
   */
  show(pending, settled) {
    const before = new Set(this.pending.map((approval) => approval.id));
    this.pending = pending;
    for (const [id, outcome] of settled) this.end(id, outcome);
    this.draw();
    const news = pending.filter((approval) => !before.has(approval.id));
    if (news.length === 1) this.say(`The agent asks: may it use ${news[0]?.request.tool}?`);
    if (news.length > 1) this.say(`The agent asks about ${news.length} calls.`);
    this.counted?.(pending.length);
  }

  /** Brings the cards in step with what is pending. One that is shown stays where it is, so what is new comes last. */
  draw() {
    if (this.single && [...this.cards.values()].some((card) => card.busy)) return; // the next one comes after it
    if (!this.pending.some(({ id }) => id === this.current)) this.current = this.pending[0]?.id ?? '';
    const shown = this.single ? this.pending.filter(({ id }) => id === this.current) : this.pending;
    const wanted = new Set(shown.map((approval) => approval.id));
    for (const [id, card] of this.cards) {
      if (wanted.has(id) || card.busy) continue;
      this.drop(id);
      card.root.closest('li')?.remove();
    }
    this.tidy();
    for (const approval of shown) {
      if (this.cards.has(approval.id)) continue;
      const card = new ApprovalCard(approval, {
        framed: this.guard.framed,
        able: this.guard.able,
        where: this.where?.(approval.conversation_id),
      });
      this.cards.set(approval.id, card);
      this.list.append(element('li', {}, card.root));
      this.guard.add(card.root, [card.head, card.box, card.choices]);
    }
    const { length } = this.pending;
    this.root.hidden = this.list.childElementCount + this.alarms.childElementCount === 0;
    this.title.textContent =
      length === 0 ? (this.list.childElementCount > 0 ? 'Decided' : 'Alarm')
      : length === 1 ? 'The agent waits for you'
      : this.single ? `The agent waits for you: ${this.pending.findIndex(({ id }) => id === this.current) + 1} of ${length}`
      : `${length} requests wait for you`;
    this.next.hidden = !this.single || length < 2;
    this.fit();
    this.arm();
  }

  /**
   * Shows the alarms among events that have just come, or not long ago.
   *
   * @param {HuxEvent[]} events
   */
  warn(events) {
    this.alarm(alarmsOf(events).filter(({ at }) => routerNow() - Date.parse(at) < ALARMED_FOR));
  }

  /** @param {import('./api.js').Alarm[]} alarms  shown below the cards, which so keep their places */
  alarm(alarms) {
    for (const alarm of alarms) {
      const key = `${alarm.conversation_id} ${alarm.run_id}`;
      if (this.alarmed.has(key)) continue;
      this.alarmed.add(key);
      this.alarms.append(alarmElement(alarm, () => this.draw()));
      this.draw();
    }
  }

  /** Keeps each card within what can be seen at once. */
  fit() {
    if (this.root.hidden) return;
    const { paddingTop, paddingBottom } = getComputedStyle(this.root);
    for (const card of this.cards.values()) {
      const around = this.single ? this.root.offsetHeight - card.root.offsetHeight : parseFloat(paddingTop) + parseFloat(paddingBottom);
      card.fit(this.room() - around);
    }
  }

  /**
   * Shows how a card ended, for a moment.
   *
   * @param {string} id
   * @param {Outcome} outcome
   */
  end(id, outcome) {
    const card = this.cards.get(id);
    if (!card) return;
    if (card.busy) { // what was chosen here may be what ended it
      card.ended = outcome;
      return;
    }
    const item = card.root.closest('li');
    const focused = card.root.contains(document.activeElement);
    const line = new OutcomeLine(card.approval, outcome, { chosen: card.chosen, say: (text) => this.say(text) });
    if (item) item.style.minHeight = `${item.offsetHeight}px`; // cards below it stay where they are
    this.drop(id);
    this.lines.set(id, line);
    item?.replaceChildren(line.root);
    this.say(line.told);
    if (focused) (this.list.querySelector('article') ?? line.root).focus();
    if (focused && card.keyed && this.cards.size === 0 && !line.button) this.left?.();
  }

  /** Takes away what was shown long enough, and the room of what has ended, where no card would move. */
  tidy() {
    for (const item of [...this.list.children].reverse()) {
      if (item.querySelector('article')) break;
      const [id, line] = [...this.lines].find(([, { root }]) => item.contains(root)) ?? [];
      if (item instanceof HTMLElement) item.style.minHeight = '';
      const older = this.single && item !== this.list.lastElementChild; // there is room for one
      if (id === undefined || !(line?.isOver || older)) continue;
      if (item.contains(document.activeElement)) this.title.focus();
      this.lines.delete(id);
      item.remove();
    }
  }

  /** @param {string} id */
  drop(id) {
    const card = this.cards.get(id);
    if (!card) return;
    this.guard.remove(card.root);
    this.cards.delete(id);
  }

  arm() {
    for (const card of this.cards.values()) card.arm(this.guard.refusal(card.root));
  }

  tick() {
    if (this.lines.size > 0) this.draw();
    for (const [id, card] of this.cards) {
      const left = card.tick();
      const at = SAY_AT.find((ms) => left <= ms && left > ms - 1_000);
      if (at) this.say(`${at / 1_000} seconds left to decide about ${card.approval.request.tool}.`);
      if (left < -LATE) void this.approvals().look(id);
    }
  }

  /** @param {string} text  to a screen reader, when it is free */
  say(text) {
    this.said.textContent = text;
  }

  /**
   * The card that an element shows.
   *
   * @param {Element} root
   */
  cardOf(root) {
    return [...this.cards.values()].find((card) => card.root === root);
  }

  /**
   * A person has chosen.
   *
   * @param {Element} root  of the card
   * @param {Press} press
   */
  choose(root, { choice, pointed }) {
    const card = this.cardOf(root);
    if (!card || card.busy) {
      this.miss(root, 'early');
      return;
    }
    card.keyed = !pointed;
    void this.decide(card, choice);
  }

  /**
   * A press on a card, or on where it was, counted for nothing.
   *
   * @param {Element} root  of the card
   * @param {Miss} miss
   */
  miss(root, miss) {
    const card = this.cardOf(root);
    if (miss === 'early' && !card?.busy) this.guard.restart(); // so that pressing on and on decides nothing
    if (card) card.miss(miss);
    else this.lines.get(root.getAttribute('data-approval') ?? '')?.pressedLate();
  }

  /**
   * @param {ApprovalCard} card
   * @param {string} choice
   */
  async decide(card, choice) {
    const { id, request } = card.approval;
    card.choose(choice);
    try {
      /** @type {ApprovalDecide} */
      const body = { choice: /** @type {ApprovalDecide['choice']} */ (choice), evidence_hash: request.evidence[0]?.hash ?? '' };
      const decided = await ask(`/hux/v1/approvals/${id}`, { method: 'POST', headers: { 'Idempotency-Key': `${id}:${choice}` }, body });
      card.answered();
      this.approvals().took(decided);
    } catch (error) {
      card.answered();
      if (!card.ended) await this.failed(card, choice, error);
    }
    if (card.ended) this.end(id, card.ended);
    this.draw();
  }

  /**
   * @param {ApprovalCard} card
   * @param {string} choice
   * @param {unknown} error
   */
  async failed(card, choice, error) {
    const { id } = card.approval;
    const otherwise = element('button', { type: 'button' }, 'Choose otherwise');
    if (!(error instanceof Refused) || error.passing) {
      const anew = element('button', { type: 'button', class: 'primary' }, `Send “${CHOICE_TEXT[choice]}” again`);
      anew.addEventListener('click', ({ isTrusted }) => { if (isTrusted) void this.decide(card, choice); });
      otherwise.addEventListener('click', () => card.again(`It is not known whether “${CHOICE_TEXT[choice]}” counted. Choose again.`));
      card.say(`The router did not answer, so it is not known whether your “${CHOICE_TEXT[choice]}” counted.`);
      card.offer(anew, otherwise);
    } else if (error.code === 'recent_sign_in_required') {
      const { link, stop } = signInAgain(() => { if (this.cards.get(id) === card) void this.decide(card, choice); });
      otherwise.addEventListener('click', () => {
        stop();
        card.again('Nothing was decided yet. Choose again.');
      });
      card.say('What lasts needs a sign-in of the last 15 minutes. Sign in again, and it goes on with what you chose.');
      card.offer(link, otherwise);
    } else if (error.status === 409 || error.status === 410) {
      await this.approvals().look(id); // it was decided elsewhere, or its time is over
      if (this.cards.get(id) === card && !card.ended) card.again(`Nothing was decided: ${error.message}`);
    } else {
      card.again(error.status === 401 ? 'Nothing was decided: you are signed out. Sign in, then decide.' : `Nothing was decided: ${error.message}`);
    }
  }
}
