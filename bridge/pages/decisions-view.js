// The cards of a page: all that waits, the oldest first, each in step with the
// router wherever it is decided.

import { ask, Refused } from './api.js';
import { signInAgain } from './again.js';
import { ApprovalCard, outcomeLine } from './approval-card.js';
import { element, part } from './dom.js';
import { Guard } from './guard.js';

const SHOWN_FOR = 5_000; // ms that a card stays after its end, as a line
const SAY_AT = [60_000, 30_000, 10_000]; // ms left at which a screen reader is told
const LATE = 2_000; // ms after the end of its time that the router is asked about a card

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('../hux.d.ts').ApprovalDecide} ApprovalDecide */
/** @typedef {import('./approvals.js').Outcome} Outcome */
/** @typedef {import('./approvals.js').Approvals} Approvals */

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
    this.said = part(root, '[data-decided]');
    this.next = part(root, '[data-next]');
    /** @type {Map<string, ApprovalCard>} */
    this.cards = new Map();
    /** @type {Approval[]} */
    this.pending = [];
    this.skipped = 0; // of pending, in a page that shows one at a time
    this.guard = new Guard(() => this.arm());
    this.next.addEventListener('click', () => {
      this.skipped = (this.skipped + 1) % Math.max(1, this.pending.length);
      this.draw();
      this.list.querySelector('article')?.focus();
    });
    // Whatever comes, goes or grows moves the cards below it.
    const sizes = new ResizeObserver(() => {
      this.fit();
      this.guard.restart();
    });
    for (const moves of [this.list, root, document.body]) sizes.observe(moves);
    setInterval(() => { if (!document.hidden) this.tick(); }, 1_000);
  }

  /**
   * @param {Approval[]} pending
   * @param {Map<string, Outcome>} settled
   */
  show(pending, settled) {
    const before = new Set(this.pending.map((approval) => approval.id));
    this.pending = pending;
    if (this.skipped >= pending.length) this.skipped = 0;
    for (const [id, outcome] of settled) this.end(id, outcome);
    this.draw();
    const news = pending.filter((approval) => !before.has(approval.id));
    if (news.length === 1) this.say(`The agent asks: may it use ${news[0]?.request.tool}?`);
    if (news.length > 1) this.say(`The agent asks about ${news.length} calls.`);
    this.counted?.(pending.length);
  }

  /** Brings the cards in step with what is pending. */
  draw() {
    const shown = this.single ? this.pending.slice(this.skipped, this.skipped + 1) : this.pending;
    const wanted = new Set(shown.map((approval) => approval.id));
    for (const [id, card] of this.cards) {
      if (wanted.has(id)) continue;
      this.drop(id);
      card.root.closest('li')?.remove();
    }
    for (const approval of shown) {
      if (this.cards.has(approval.id)) continue;
      const card = new ApprovalCard(approval, {
        chosen: (card, choice, event) => this.choose(card, choice, event),
        framed: this.guard.framed,
        able: this.guard.able,
        where: this.where?.(approval.conversation_id),
      });
      this.cards.set(approval.id, card);
      const after = [...this.cards.keys()].filter((id) => id > approval.id).sort()[0];
      this.list.insertBefore(element('li', {}, card.root), this.cards.get(after ?? '')?.root.closest('li') ?? null);
      this.guard.add(card.root, [card.head, card.box, card.choices]);
    }
    const { length } = this.pending;
    this.root.hidden = this.list.childElementCount === 0;
    this.title.textContent =
      length === 0 ? 'Decided'
      : length === 1 ? 'The agent waits for you'
      : this.single ? `The agent waits for you: ${this.skipped + 1} of ${length}`
      : `The agent waits for you: ${length} requests`;
    this.next.hidden = !this.single || length < 2;
    this.fit();
    this.arm();
  }

  /** Keeps each card within what can be seen at once. */
  fit() {
    if (this.root.hidden) return;
    const { paddingTop, paddingBottom } = getComputedStyle(this.root);
    const around = this.single ? this.root.offsetHeight - this.list.offsetHeight : parseFloat(paddingTop) + parseFloat(paddingBottom);
    for (const card of this.cards.values()) card.fit(this.room() - around);
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
    const line = outcomeLine(card.approval, outcome);
    const item = card.root.closest('li');
    const focused = card.root.contains(document.activeElement);
    this.drop(id);
    item?.replaceChildren(element('p', { class: 'decided', 'data-ended': id, 'data-status': outcome.status }, line));
    this.say(line);
    if (focused) (this.list.querySelector('article') ?? this.title).focus();
    if (focused && card.keyed && this.cards.size === 0) this.left?.();
    setTimeout(() => {
      item?.remove();
      this.draw();
    }, SHOWN_FOR);
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
   * A person has chosen.
   *
   * @param {ApprovalCard} card
   * @param {string} choice
   * @param {UIEvent} event
   */
  choose(card, choice, event) {
    if (!event.isTrusted || card.busy) return; // a person's own press, and nothing that a script sends
    card.keyed = event.detail === 0;
    // A "no" does no harm, whatever it was meant for.
    const refusal = choice === 'deny' ? null : this.guard.refusal(card.root, event);
    if (refusal === 'early') this.guard.restart(); // so that pressing on and on decides nothing
    if (refusal) card.refuse(refusal);
    else void this.decide(card, choice);
  }

  /**
   * @param {ApprovalCard} card
   * @param {string} choice
   */
  async decide(card, choice) {
    const { id, request } = card.approval;
    card.say('');
    card.wait(true);
    try {
      /** @type {ApprovalDecide} */
      const body = { choice: /** @type {ApprovalDecide['choice']} */ (choice), evidence_hash: request.evidence[0]?.hash ?? '' };
      this.approvals().took(await ask(`/hux/v1/approvals/${id}`, { method: 'POST', headers: { 'Idempotency-Key': `${id}:${choice}` }, body }));
    } catch (error) {
      card.wait(false);
      this.failed(card, choice, error);
    }
  }

  /**
   * @param {ApprovalCard} card
   * @param {string} choice
   * @param {unknown} error
   */
  failed(card, choice, error) {
    const { id } = card.approval;
    if (!(error instanceof Refused) || error.passing) {
      card.say('The router did not answer, so it is not known whether this was decided. Press again.');
    } else if (error.code === 'recent_sign_in_required') {
      const { link, stop } = signInAgain(() => { if (this.cards.get(id) === card) void this.decide(card, choice); });
      const back = element('button', { type: 'button' }, 'Choose otherwise');
      back.addEventListener('click', () => {
        stop();
        card.say('');
      });
      card.say('What lasts needs a sign-in of the last 15 minutes. Sign in again, and it goes on with what you chose.', element('span', { class: 'actions' }, link, back));
      link.focus();
    } else if (error.status === 409 || error.status === 410) {
      void this.approvals().look(id); // it was decided elsewhere, or its time is over
      card.say(error.message);
    } else {
      card.say(error.status === 401 ? 'You are signed out. Sign in, then decide.' : error.message);
    }
  }
}
