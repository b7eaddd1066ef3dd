// What waits for a decision in a conversation: read once, then kept in step by
// the conversation's events, so that a decision made anywhere is seen
// everywhere.

import { ask, Refused } from './api.js';

const REFRESH_EVERY = 30_000; // ms; it also tells the router that somebody is here to decide
const ALONE_EVERY = 3_000; // ms, where no event tells of what is new
const RETRY = 3_000; // ms
const BURST = 3; // requests at once from which the list is read instead
const SETTLED_KEPT = 500;

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('./stream.js').HuxEvent} HuxEvent */

/**
 * How an approval ended, as far as it is known.
 *
 * @typedef {{status: string, choice?: string, grant?: string, cause?: string}} Outcome
 */

export class Approvals {
  /**
   * @param {(pending: Approval[], settled: Map<string, Outcome>) => void} changed  the oldest first, and what has just ended
   */
  constructor(changed) {
    this.changed = changed;
    /** @type {string | null | undefined} undefined: nothing is followed */
    this.conversation = undefined;
    /** @type {Map<string, Approval>} */
    this.pending = new Map();
    /** @type {Set<string>} ids, since a list that was asked for before may still have them */
    this.settled = new Set();
    this.alone = false; // no events come
    this.timer = 0;
    document.addEventListener('visibilitychange', () => { if (!document.hidden) void this.load(); });
  }

  /**
   * Follows a conversation, or all of them for null.
   *
   * @param {string | null | undefined} conversation
   */
  show(conversation) {
    if (this.conversation === conversation) return;
    this.conversation = conversation;
    this.pending.clear();
    this.changed([], new Map());
    void this.load();
  }

  /** Reads what is pending now. */
  async load() {
    clearTimeout(this.timer);
    const { conversation } = this;
    if (conversation === undefined || document.hidden) return;
    let wait = this.alone ? ALONE_EVERY : REFRESH_EVERY;
    try {
      const before = [...this.pending.keys()];
      const query = new URLSearchParams({ status: 'pending', limit: '200', ...(conversation ? { conversation_id: conversation } : {}) });
      /** @type {{items: Approval[]}} */
      const { items } = await ask(`/hux/v1/approvals?${query}`);
      if (conversation !== this.conversation) return;
      for (const approval of items) if (!this.settled.has(approval.id)) this.pending.set(approval.id, approval);
      const listed = new Set(items.map((approval) => approval.id));
      this.changed(this.list(), new Map());
      for (const id of before) if (!listed.has(id) && this.pending.has(id)) void this.look(id);
    } catch (error) {
      if (error instanceof Refused && !error.passing && error.status !== 401) return; // the router has no approvals
      wait = RETRY;
    }
    clearTimeout(this.timer);
    if (conversation === this.conversation) this.timer = setTimeout(() => this.load(), wait);
  }

  /**
   * Begins with the newest part of the conversation's log.
   *
   * @param {HuxEvent[]} events
   */
  begin(events) {
    if (this.conversation === undefined) return;
    this.take(events.filter((event) => event.kind === 'approval.resolved'));
    void this.load();
  }

  /**
   * Takes what the conversation's log tells further.
   *
   * @param {HuxEvent[]} events
   */
  take(events) {
    if (this.conversation === undefined) return;
    /** @type {string[]} */
    const asked = [];
    /** @type {Map<string, Outcome>} */
    const ended = new Map();
    for (const { kind, data } of events) {
      const id = data?.approval_id;
      if (typeof id !== 'string') continue;
      if (kind === 'approval.requested') asked.push(id);
      if (kind === 'approval.resolved') ended.set(id, { status: String(data?.status), choice: text(data?.choice), grant: text(data?.grant_id), cause: text(data?.cause) });
    }
    if (ended.size > 0) this.settle(ended);
    const open = asked.filter((id) => !this.settled.has(id));
    if (open.length > BURST) void this.load();
    else for (const id of open) void this.look(id);
  }

  /**
   * Takes an approval as the router has it.
   *
   * @param {Approval} approval
   */
  took(approval) {
    if (approval.status !== 'pending') {
      const { status, decision } = approval;
      this.settle(new Map([[approval.id, { status, choice: decision?.choice, grant: decision?.grant_id ?? undefined }]]));
    } else if (!this.settled.has(approval.id) && this.concerns(approval)) {
      this.pending.set(approval.id, approval);
      this.changed(this.list(), new Map());
    }
  }

  /**
   * Asks how it is with one.
   *
   * @param {string} id
   */
  async look(id) {
    try {
      this.took(await ask(`/hux/v1/approvals/${id}`));
    } catch {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.load(), RETRY);
    }
  }

  /** @param {Map<string, Outcome>} ended */
  settle(ended) {
    for (const id of ended.keys()) {
      this.settled.add(id);
      this.pending.delete(id);
    }
    for (const id of this.settled) {
      if (this.settled.size <= SETTLED_KEPT) break;
      this.settled.delete(id);
    }
    this.changed(this.list(), ended);
  }

  /** @param {Approval} approval */
  concerns(approval) {
    return this.conversation === null || this.conversation === approval.conversation_id;
  }

  /** @returns {Approval[]} */
  list() {
    return [...this.pending.values()].sort((a, b) => a.id.localeCompare(b.id));
  }
}

/**
 * @param {unknown} value
 * @returns {string | undefined}
 */
function text(value) {
  return typeof value === 'string' ? value : undefined;
}
