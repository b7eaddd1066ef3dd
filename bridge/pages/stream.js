// One connection to a conversation's stream of events, kept up over whatever
// happens to it. It runs in a worker as well as in a page.
//
// The stream is read with fetch and not with EventSource, which does not say
// why it was refused, nor notices a connection that has died without a word.

import { Refused, refusal } from './api.js';

const SILENCE = 50_000; // ms; the router sends something every 20 s
const FIRST_RETRY = 500; // ms
const SLOWEST = 30_000; // ms

/** @typedef {'connecting' | 'live' | 'reconnecting' | 'offline' | 'signed-out' | 'refused' | 'ended'} StreamState */

/** @typedef {import('../hux.d.ts').Event} HuxEvent */

/**
 * @typedef {object} StreamListener
 * @property {(event: HuxEvent) => void} event
 * @property {(state: StreamState, why?: string) => void} state
 * @property {() => void} reset  the numbers start anew; this stream is over
 */

export class Stream {
  /**
   * @param {string} conversation
   * @param {{after: number, epoch: string}} from  the last event that is known
   * @param {StreamListener} listener
   */
  constructor(conversation, { after, epoch }, listener) {
    this.conversation = conversation;
    this.after = after;
    this.epoch = epoch;
    this.listener = listener;
    /** @type {StreamState} */
    this.state = 'connecting';
    /** @type {string | undefined} */
    this.why = undefined;
    this.closed = false;
    this.failures = 0;
    this.wait = 0; // ms that the router asked for
    this.connection = new AbortController();
    this.wake = () => {};
    this.online = () => {
      this.failures = 0;
      this.wake();
    };
    addEventListener('online', this.online);
    void this.run();
  }

  close() {
    this.closed = true;
    removeEventListener('online', this.online);
    this.connection.abort();
    this.wake();
  }

  async run() {
    while (!this.closed) {
      this.wait = 0;
      try {
        await this.connect();
      } catch (error) {
        if (this.closed) return;
        if (error instanceof Refused && error.status === 401) {
          this.wait = SLOWEST;
          this.tell('signed-out');
        } else if (error instanceof Refused && !error.passing) {
          this.close();
          this.tell('refused', error.message);
          return;
        }
      }
      if (this.closed) return;
      if (this.wait === 0) this.tell(navigator.onLine ? 'reconnecting' : 'offline');
      await this.pause();
    }
  }

  /** Reads one connection to its end. */
  async connect() {
    this.connection = new AbortController();
    let watchdog = setTimeout(() => this.connection.abort(), SILENCE);
    try {
      const query = new URLSearchParams({ after_seq: String(this.after), epoch: this.epoch });
      const answer = await fetch(`/hux/v1/conversations/${this.conversation}/events/stream?${query}`, {
        cache: 'no-store',
        headers: { Accept: 'text/event-stream' },
        signal: this.connection.signal,
      });
      if (answer.status === 204) {
        this.close();
        this.tell('ended');
        return;
      }
      if (!answer.ok || !answer.body) {
        this.wait = (Number(answer.headers.get('Retry-After')) || 0) * 1_000;
        throw await refusal(answer);
      }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const frames = new Frames((name, data) => this.take(name, data));
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watchdog);
        watchdog = setTimeout(() => this.connection.abort(), SILENCE);
        frames.add(value);
      }
    } finally {
      clearTimeout(watchdog);
      this.connection.abort();
    }
  }

  /**
   * @param {string} name  '' for an event of the conversation
   * @param {string} data
   */
  take(name, data) {
    if (this.closed) return;
    switch (name) {
      case '': {
        /** @type {HuxEvent} */
        const event = JSON.parse(data);
        if (event.seq <= this.after) return;
        this.after = event.seq;
        this.listener.event(event);
        break;
      }
      case 'hux.hello':
        this.failures = 0;
        this.tell('live');
        break;
      case 'hux.reset':
        this.close();
        this.listener.reset();
        break;
      case 'hux.closing': // why the connection is about to end
        if (JSON.parse(data).reason !== 'store_corrupt') break;
        this.close();
        this.tell('refused', 'An event of this conversation can’t be read. Your operator must restore it.');
        break;
    }
  }

  /**
   * @param {StreamState} state
   * @param {string} [why]
   */
  tell(state, why) {
    if (this.state === state && this.why === why) return;
    this.state = state;
    this.why = why;
    this.listener.state(state, why);
  }

  pause() {
    const backOff = Math.min(FIRST_RETRY * 2 ** this.failures, SLOWEST) * (0.5 + Math.random());
    this.failures += 1;
    return /** @type {Promise<void>} */ (new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(this.wait, backOff));
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }));
  }
}

/** Cuts the text of an event stream into frames. */
class Frames {
  /** @param {(name: string, data: string) => void} take */
  constructor(take) {
    this.take = take;
    this.rest = '';
    this.name = '';
    /** @type {string[]} */
    this.data = [];
  }

  /** @param {string} text */
  add(text) {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.line(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  /** @param {string} line */
  line(line) {
    if (line === '') {
      if (this.data.length > 0) this.take(this.name, this.data.join('\n'));
      this.name = '';
      this.data = [];
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === 'event') this.name = value ?? '';
    if (field === 'data') this.data.push(value ?? '');
  }
}
