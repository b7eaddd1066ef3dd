// The activity timeline: what happens in a conversation, by run, as it
// happens. It holds a bounded part of the log, its newest events or, after
// "Show earlier", some before.

import { Approvals } from './approvals.js';
import { Decisions } from './decisions-view.js';
import { part } from './dom.js';
import { isAlarm, isFailure, lineOf } from './events.js';
import { Feed } from './feed.js';
import { EventRow, RunGroup } from './timeline-row.js';

const MOST = 400; // events shown at once
const NEAR = 48; // px from the end that count as the end
const SAY_EVERY = 4_000; // ms between two announcements to a screen reader
const BESIDE = 112; // px beside the cards, as in decisions.css
const TICK = 1_000; // ms, the time of a run that goes on

/** @typedef {import('./stream.js').HuxEvent} HuxEvent */
/** @typedef {import('./stream.js').StreamState} StreamState */

/** @type {Record<StreamState, string>} */
const STATE_TEXT = {
  connecting: 'Connecting…',
  live: 'Live',
  reconnecting: 'Reconnecting…',
  offline: 'Offline',
  'signed-out': 'Signed out',
  refused: 'Not available',
  ended: 'Forgotten',
};

export class Timeline {
  /**
   * @param {HTMLElement} root  the page's section, of the template "timeline"
   * @param {(conversation: string, newest: HuxEvent) => void} [moved]
   * @param {(count: number) => void} [counted]  of what waits for a decision
   */
  constructor(root, moved, counted) {
    this.root = root;
    this.moved = moved;
    this.pill = part(root, '[data-stream]');
    this.note = part(root, '[data-note]');
    this.scroller = part(root, '[data-scroller]');
    this.earlier = part(root, '[data-earlier]');
    this.newer = part(root, '[data-newer]');
    this.said = part(root, '[data-said]');
    this.list = part(root, '[data-list]');
    /** @type {Feed | null} */
    this.feed = null;
    /** @type {RunGroup[]} */
    this.groups = [];
    this.count = 0; // of rows
    this.first = 0; // seq of the first row
    this.last = 0; // and of the last
    this.atHead = true; // whether the rows reach the end of the log
    this.unseen = 0; // events that came while the reader was elsewhere
    this.hidden = new Set();
    this.failuresOnly = false;
    this.loading = false;
    this.autonomous = false; // whether there are decisions to make, and runs can be stopped
    this.decisions = new Decisions(part(root, '[data-decisions]'), {
      approvals: () => this.approvals,
      counted,
      room: () => (matchMedia('(max-height: 640px)').matches ? root.parentElement?.clientHeight ?? 0 : root.clientHeight - BESIDE),
    });
    this.approvals = new Approvals((pending, settled) => this.decisions.show(pending, settled));
    this.announced = 0; // when a screen reader was told last
    /** @type {HuxEvent[]} of which it was not told yet */
    this.news = [];

    this.earlier.addEventListener('click', () => this.showEarlier());
    this.newer.addEventListener('click', () => this.showNewest());
    this.scroller.addEventListener('scroll', () => { if (this.isAtEnd) this.seen(); }, { passive: true });
    this.list.addEventListener('keydown', (event) => this.key(event));
    this.list.addEventListener('focusin', (event) => { if (event.target instanceof HTMLElement) this.rove(event.target); });
    for (const button of root.querySelectorAll('[data-filter]')) {
      button.addEventListener('click', () => this.toggle(/** @type {HTMLElement} */ (button)));
    }
    setInterval(() => { if (!document.hidden) for (const group of this.groups) if (group.isRunning) group.draw(); }, TICK);
  }

  /**
   * Says that the router has the card Autonomy; before the first show.
   *
   * @param {boolean} alone  without a timeline, whose events would tell of what is asked
   */
  withAutonomy(alone) {
    this.autonomous = true;
    this.approvals.alone = alone;
  }

  /** @param {string | null} conversation */
  show(conversation) {
    if (this.feed?.conversation === conversation) return;
    if (this.autonomous) this.approvals.show(conversation ?? undefined);
    this.feed?.close();
    this.feed = null;
    this.clear();
    this.tell('connecting');
    this.root.dataset.conversation = conversation ?? '';
    this.pill.hidden = conversation === null;
    if (conversation === null) {
      this.say('No conversation is open. What your assistant does in one is shown here.');
      return;
    }
    this.say('Loading…');
    this.root.setAttribute('aria-busy', 'true');
    this.feed = new Feed(conversation, {
      begin: (events) => this.begin(events),
      more: (events) => this.more(events),
      state: (state, why) => this.tell(state, why),
    });
  }

  clear() {
    this.groups = [];
    this.count = this.first = this.last = this.unseen = 0;
    this.atHead = true;
    this.list.replaceChildren();
    this.earlier.hidden = this.newer.hidden = true;
  }

  /** @param {HuxEvent[]} events */
  begin(events) {
    this.clear();
    this.root.setAttribute('aria-busy', 'false');
    for (const event of events) this.append(event);
    for (const group of this.groups.slice(0, -1)) if (group.finished) group.open(false);
    this.drawn();
    this.toEnd();
    this.tellMoved(events);
    this.decisions.warn(events);
    this.approvals.begin(events);
  }

  /** @param {HuxEvent[]} events */
  more(events) {
    this.decisions.warn(events);
    this.approvals.take(events);
    const stay = !this.isAtEnd;
    if (this.atHead) {
      for (const event of events) this.append(event);
      // Somebody who reads further up keeps what they read, up to a bound.
      if (!stay) this.trim();
      else if (this.count >= MOST * 2) this.atHead = false;
    }
    if (stay) {
      this.unseen += events.length;
      this.newer.hidden = false;
      this.newer.textContent = this.unseen === 1 ? '1 new event' : `${this.unseen} new events`;
    } else {
      this.toEnd();
    }
    this.drawn();
    this.announce(events);
    this.tellMoved(events);
  }

  /** @param {HuxEvent[]} events */
  tellMoved(events) {
    const newest = events.at(-1);
    if (newest && this.feed) this.moved?.(this.feed.conversation, newest);
  }

  /** @param {HuxEvent} event */
  append(event) {
    const run = event.run_id ?? null;
    let group = run === null ? undefined : this.groups.find((g) => g.run === run);
    if (run === null && this.groups.at(-1)?.run === null) group = this.groups.at(-1);
    if (!group) {
      group = new RunGroup(run, this.autonomous ? this.feed?.conversation : undefined);
      if (run !== null) for (const before of this.groups) this.supersede(before);
      this.groups.push(group);
      this.list.append(group.root);
    }
    const row = new EventRow(event);
    group.add(row);
    this.filter(row);
    if (this.count === 0) this.first = event.seq;
    this.last = event.seq;
    this.count += 1;
  }

  /** @param {RunGroup} group */
  supersede(group) {
    group.superseded = true;
    group.draw();
  }

  /** Lets go of the oldest rows beyond the bound. */
  trim() {
    while (this.count > MOST) {
      const group = this.groups.find((g) => g.rows[0]?.event.seq === this.first);
      group?.dropFirst();
      if (group?.rows.length === 0) {
        group.root.remove();
        this.groups.splice(this.groups.indexOf(group), 1);
      }
      this.first += 1;
      this.count -= 1;
    }
  }

  /** @returns {HuxEvent[]} what is shown, in order */
  events() {
    return this.groups.flatMap((group) => group.rows.map((row) => row.event)).sort((a, b) => a.seq - b.seq);
  }

  /**
   * Shows these instead, with the same ones open.
   *
   * @param {HuxEvent[]} events
   */
  redraw(events) {
    const closed = new Set(this.groups.filter((group) => !group.isOpen).map((group) => group.run));
    const open = new Set(this.groups.flatMap((g) => g.rows).filter((row) => row.head.ariaExpanded === 'true').map((row) => row.event.seq));
    this.groups = [];
    this.count = 0;
    this.list.replaceChildren();
    for (const event of events) this.append(event);
    for (const group of this.groups) {
      if (closed.has(group.run)) group.open(false);
      for (const row of group.rows) if (open.has(row.event.seq)) row.open(true);
    }
    this.drawn();
  }

  async showEarlier() {
    if (!this.feed || this.loading) return;
    this.loading = true;
    const feed = this.feed;
    try {
      const before = await feed.before(this.first);
      if (feed !== this.feed) return;
      const all = [...before, ...this.events()];
      if (all.length > MOST * 2) this.atHead = false;
      const height = this.list.scrollHeight;
      this.redraw(all.slice(0, MOST * 2));
      this.scroller.scrollTop += this.list.scrollHeight - height;
    } catch {
      this.say('The router did not answer. Try again.');
    } finally {
      this.loading = false;
    }
  }

  showNewest() {
    if (this.atHead) {
      this.toEnd();
      this.seen();
    } else if (this.feed) {
      const { conversation } = this.feed;
      this.feed.close();
      this.feed = null;
      this.show(conversation);
    }
    this.items().at(-1)?.focus({ preventScroll: true });
  }

  get isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return this.atHead && scrollHeight - scrollTop - clientHeight < NEAR;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  seen() {
    this.unseen = 0;
    this.newer.hidden = true;
  }

  /** Brings what hangs on the rows in step with them. */
  drawn() {
    this.earlier.hidden = this.first <= 1;
    for (const group of this.groups) {
      group.root.hidden = group.rows.every((row) => row.root.hidden);
      group.root.classList.toggle('forced', this.failuresOnly);
    }
    const shown = this.groups.some((group) => !group.root.hidden);
    this.say(
      shown ? ''
      : this.count > 0 ? 'Nothing here fits the filter.'
      : 'Nothing has happened yet. Send a message and watch.',
    );
    const current = this.list.querySelector('[data-item][tabindex="0"]');
    if (!current?.getClientRects().length) this.rove(this.items().at(-1));
  }

  /** @param {string} text */
  say(text) {
    this.note.hidden = text === '';
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  /**
   * @param {StreamState} state
   * @param {string} [why]
   */
  tell(state, why) {
    this.pill.dataset.state = state;
    if (this.pill.textContent !== STATE_TEXT[state]) this.pill.textContent = STATE_TEXT[state];
    this.pill.title = why ?? '';
    if (state !== 'live' && state !== 'connecting') this.root.setAttribute('aria-busy', 'false');
    if (this.count > 0) return;
    if (state === 'live') this.drawn();
    if (state === 'refused') this.say(why ?? 'The router refuses to show this.');
    if (state === 'reconnecting') this.say('The router does not answer. Trying again by itself.');
    if (state === 'offline') this.say('Your device is offline.');
    if (state === 'signed-out') this.say('You are signed out.');
  }

  /**
   * Tells a screen reader now and then, in one sentence.
   *
   * @param {HuxEvent[]} events
   */
  announce(events) {
    this.news.push(...events);
    const wait = this.announced + SAY_EVERY - Date.now();
    if (this.news.length > events.length) return; // one is on its way
    setTimeout(() => {
      const news = this.news;
      this.news = [];
      this.announced = Date.now();
      const notable = news.find(isAlarm)
        ?? news.filter((event) => event.kind === 'run.finished' || event.kind === 'run.receipt' || isFailure(event)).at(-1) ?? news.at(-1);
      if (!notable) return;
      this.said.textContent = `${news.length === 1 ? '1 new event' : `${news.length} new events`}. ${lineOf(notable)}`;
    }, Math.max(200, wait));
  }

  /** @param {HTMLElement} button */
  toggle(button) {
    const on = button.getAttribute('aria-pressed') !== 'true';
    const name = button.dataset.filter ?? '';
    button.setAttribute('aria-pressed', String(on));
    if (name === 'failures') this.failuresOnly = on;
    else if (on) this.hidden.delete(name);
    else this.hidden.add(name);
    const end = this.isAtEnd;
    for (const group of this.groups) for (const row of group.rows) this.filter(row);
    this.drawn();
    if (end) this.toEnd();
    if (this.isAtEnd) this.seen();
  }

  /** @param {EventRow} row */
  filter(row) {
    row.filter(!isAlarm(row.event) && (this.hidden.has(row.category) || (this.failuresOnly && !row.failed)));
  }

  /** @returns {HTMLElement[]} what the arrow keys go through */
  items() {
    return Array.from(this.list.querySelectorAll('[data-item]'), (item) => /** @type {HTMLElement} */ (item))
      .filter((item) => item.getClientRects().length > 0);
  }

  /** @param {HTMLElement | undefined} to  the one item that Tab reaches */
  rove(to) {
    if (!to?.matches('[data-item]')) return;
    for (const item of this.list.querySelectorAll('[data-item][tabindex="0"]')) item.setAttribute('tabindex', '-1');
    to.tabIndex = 0;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.target instanceof HTMLElement)) return;
    const { target } = event;
    if (!target.matches('[data-item]')) return;
    const items = this.items();
    const at = items.indexOf(target);
    const open = target.getAttribute('aria-expanded') === 'true';
    switch (event.key) {
      case 'ArrowDown': items[at + 1]?.focus(); break;
      case 'ArrowUp': items[at - 1]?.focus(); break;
      case 'Home': items[0]?.focus(); break;
      case 'End': items.at(-1)?.focus(); break;
      case 'ArrowRight': if (!open) target.click(); break;
      case 'ArrowLeft': if (open) target.click(); break;
      default: return;
    }
    event.preventDefault();
  }
}
