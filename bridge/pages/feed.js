// A page's view of a conversation's log: a gapless run of events that grows at
// its end, whatever the connection does. Its cursor is the last event that it
// has; what the stream tells beyond the next one is a sign to read the list.

import { ask, Refused } from './api.js';
import { Stream } from './stream.js';

const PAGE = 200; // events in an answer, the most that the router gives
const FIRST = 100; // events to begin with
const FAR = 1_000; // events behind the head from which it is better to begin anew
const BEYOND = Number.MAX_SAFE_INTEGER; // a cursor that is beyond every log
const SPEAK_EVERY = 20_000; // ms, so that the worker knows that the page is there
const WORKER_TIMEOUT = 3_000; // ms for the worker to speak for the first time
const RETRY = 3_000; // ms
const RESET_PAUSE = 500; // ms

/** @typedef {import('./stream.js').HuxEvent} HuxEvent */
/** @typedef {import('./stream.js').StreamState} StreamState */
/** @typedef {{items: HuxEvent[], next: string | null, head_seq: number, epoch: string}} EventList */

/**
 * @typedef {object} FeedListener
 * @property {(events: HuxEvent[]) => void} begin  forget all before; these are the newest
 * @property {(events: HuxEvent[]) => void} more   these follow
 * @property {(state: StreamState, why?: string) => void} state
 */

export class Feed {
  /**
   * @param {string} conversation
   * @param {FeedListener} listener
   */
  constructor(conversation, listener) {
    this.conversation = conversation;
    this.listener = listener;
    this.cursor = -1; // nothing was read yet
    this.epoch = '';
    this.heard = 0; // the highest number that the stream told of
    this.reading = false;
    this.closed = false;
    /** @type {Source | null} */
    this.source = null;
    /** @type {HuxEvent[]} taken, and shown with the next frame */
    this.waiting = [];
    this.frame = 0;
    this.look = () => this.visible(!document.hidden);
    this.hide = () => this.visible(false);
    document.addEventListener('visibilitychange', this.look);
    window.addEventListener('pageshow', this.look);
    window.addEventListener('pagehide', this.hide);
    this.look();
  }

  close() {
    this.closed = true;
    document.removeEventListener('visibilitychange', this.look);
    window.removeEventListener('pageshow', this.look);
    window.removeEventListener('pagehide', this.hide);
    this.visible(false);
  }

  /**
   * The events before one, oldest first.
   *
   * @param {number} seq
   * @returns {Promise<HuxEvent[]>}
   */
  async before(seq) {
    const after = Math.max(0, seq - 1 - FIRST);
    const { items } = await this.list(after, seq - 1 - after);
    return items.filter((event) => event.seq < seq);
  }

  /**
   * A hidden page holds no stream.
   *
   * @param {boolean} shown
   */
  visible(shown) {
    if (!shown) {
      this.source?.close();
      this.source = null;
      cancelAnimationFrame(this.frame);
      this.deliver();
    } else if (!this.source && !this.closed) {
      void this.read();
    }
  }

  /** Reads on from the cursor to the head, then follows. */
  async read() {
    if (this.reading || this.closed) return;
    this.reading = true;
    try {
      do {
        const heard = this.heard;
        const behind = this.cursor < 0 ? null : await this.list(this.cursor, PAGE);
        if (!behind || behind.epoch !== this.epoch || this.cursor > behind.head_seq || behind.head_seq - this.cursor > FAR) {
          await this.begin();
        } else {
          for (const event of behind.items) this.take(event);
          // What was told of and is not there will not come either.
          if (behind.items.length === 0 && this.heard === heard) this.heard = this.cursor;
          this.heard = Math.max(this.heard, behind.head_seq);
        }
      } while (!this.closed && this.cursor < this.heard);
    } catch (error) {
      if (!this.closed) this.failed(error);
      return;
    } finally {
      this.reading = false;
    }
    if (this.closed || document.hidden || this.source) return;
    this.source = follow(this.conversation, { after: this.cursor, epoch: this.epoch }, {
      event: (event) => {
        this.heard = Math.max(this.heard, event.seq);
        if (!this.reading) this.take(event);
        if (this.cursor < this.heard) void this.read();
      },
      head: (seq) => {
        this.heard = Math.max(this.heard, seq);
        if (this.cursor < this.heard) void this.read();
      },
      state: (state, why) => this.listener.state(state, why),
      reset: () => {
        this.source?.close();
        this.source = null;
        this.cursor = -1;
        setTimeout(this.look, RESET_PAUSE);
      },
    });
  }

  async begin() {
    const { head_seq: head, epoch } = await this.list(BEYOND, 1);
    const after = Math.max(0, head - FIRST);
    const { items } = head > 0 ? await this.list(after, FIRST) : { items: [] };
    this.epoch = epoch;
    this.cursor = items.at(-1)?.seq ?? 0;
    this.heard = Math.max(head, this.cursor);
    this.waiting = [];
    this.listener.begin(items);
  }

  /** @param {HuxEvent} event */
  take(event) {
    if (event.seq !== this.cursor + 1) return;
    this.cursor = event.seq;
    // Many at once are shown at once.
    if (this.waiting.push(event) === 1) this.frame = requestAnimationFrame(() => this.deliver());
  }

  deliver() {
    const events = this.waiting;
    this.waiting = [];
    if (events.length > 0) this.listener.more(events);
  }

  /** @param {unknown} error */
  failed(error) {
    const refused = error instanceof Refused ? error : null;
    if (refused && !refused.passing && refused.status !== 401) {
      this.listener.state('refused', refused.message);
      return;
    }
    this.listener.state(refused?.status === 401 ? 'signed-out' : navigator.onLine ? 'reconnecting' : 'offline');
    setTimeout(() => { if (!document.hidden) void this.read(); }, RETRY);
  }

  /**
   * @param {number} after
   * @param {number} limit
   * @returns {Promise<EventList>}
   */
  list(after, limit) {
    return ask(`/hux/v1/conversations/${this.conversation}/events?after_seq=${after}&limit=${limit}`);
  }
}

/** @typedef {{close: () => void}} Source */
/** @typedef {import('./stream.js').StreamListener & {head: (seq: number) => void}} SourceListener */

/**
 * Follows through the worker that all pages of the browser share or, where
 * that can't be had, by a stream of the page's own.
 *
 * @param {string} conversation
 * @param {{after: number, epoch: string}} from
 * @param {SourceListener} listener
 * @returns {Source}
 */
function follow(conversation, from, listener) {
  /** @type {SharedWorker} */
  let worker;
  try {
    worker = new SharedWorker(new URL('stream-worker.js', import.meta.url), { type: 'module', name: 'hux-stream' });
  } catch {
    return new Stream(conversation, from, listener);
  }
  let last = from.after;
  /** @type {Source | null} */
  let own = null;
  let closed = false;
  const leave = () => {
    clearTimeout(late);
    clearInterval(speaking);
    worker.port.postMessage({ type: 'leave' });
    worker.port.onmessage = null;
    worker.port.close();
  };
  const alone = () => {
    if (own || closed) return;
    leave();
    own = new Stream(conversation, { after: last, epoch: from.epoch }, listener);
  };
  const speak = () => worker.port.postMessage({ type: 'follow', conversation, after: last, epoch: from.epoch });
  const late = setTimeout(alone, WORKER_TIMEOUT);
  const speaking = setInterval(speak, SPEAK_EVERY);
  worker.onerror = alone;
  worker.port.onmessage = (/** @type {MessageEvent<import('./stream-worker.js').FromWorker>} */ { data }) => {
    clearTimeout(late);
    switch (data.type) {
      case 'event':
        last = Math.max(last, data.event.seq);
        listener.event(data.event);
        break;
      case 'head':
        listener.head(data.seq);
        break;
      case 'state':
        if (data.state === 'refused' || data.state === 'ended') clearInterval(speaking);
        listener.state(data.state, data.why);
        break;
      case 'reset':
        listener.reset();
        break;
    }
  };
  speak();
  return {
    close() {
      closed = true;
      if (own) own.close();
      else leave();
    },
  };
}
