// A SharedWorker: one stream per conversation for all pages of the browser
// that show it. It keeps no event; what a page missed it reads by itself.

import { Stream } from './stream.js';

const SILENCE = 60_000; // ms after which a page is taken to be gone; it speaks every 20 s

/**
 * What a page says.
 *
 * @typedef {{type: 'follow', conversation: string, after: number, epoch: string} | {type: 'leave'}} ToWorker
 */

/**
 * What the worker says; head is the last event that it has passed on.
 *
 * @typedef {{type: 'state', state: import('./stream.js').StreamState, why?: string}
 *   | {type: 'event', event: import('./stream.js').HuxEvent}
 *   | {type: 'head', seq: number}
 *   | {type: 'reset'}} FromWorker
 */

/** What the pages that show one conversation share. */
class Shared {
  /**
   * @param {string} conversation
   * @param {{after: number, epoch: string}} from
   */
  constructor(conversation, from) {
    this.conversation = conversation;
    /** @type {Map<MessagePort, number>} each with when it spoke last */
    this.ports = new Map();
    this.stream = new Stream(conversation, from, {
      event: (event) => this.tell({ type: 'event', event }),
      state: (state, why) => {
        this.tell({ type: 'state', state, why });
        if (state === 'refused' || state === 'ended') this.end();
      },
      reset: () => {
        this.tell({ type: 'reset' });
        this.end();
      },
    });
    this.timer = setInterval(() => {
      for (const [port, spoke] of this.ports) if (Date.now() - spoke > SILENCE) this.leave(port);
    }, SILENCE / 4);
  }

  /** @param {MessagePort} port */
  join(port) {
    const isNew = !this.ports.has(port);
    this.ports.set(port, Date.now());
    if (!isNew) return;
    say(port, { type: 'state', state: this.stream.state, why: this.stream.why });
    say(port, { type: 'head', seq: this.stream.after });
  }

  /** @param {MessagePort} port */
  leave(port) {
    if (this.ports.delete(port) && this.ports.size === 0) this.end();
  }

  end() {
    clearInterval(this.timer);
    this.stream.close();
    this.ports.clear();
    if (all.get(this.conversation) === this) all.delete(this.conversation);
  }

  /** @param {FromWorker} message */
  tell(message) {
    for (const port of this.ports.keys()) say(port, message);
  }
}

/** @type {Map<string, Shared>} by conversation */
const all = new Map();

/**
 * @param {MessagePort} port
 * @param {FromWorker} message
 */
function say(port, message) {
  port.postMessage(message);
}

/**
 * @param {MessagePort} port
 * @param {ToWorker} message
 */
function hear(port, message) {
  const wanted = message.type === 'follow' ? message.conversation : '';
  for (const shared of all.values()) if (shared.conversation !== wanted) shared.leave(port);
  if (message.type !== 'follow') return;
  let shared = all.get(wanted);
  if (!shared) {
    shared = new Shared(wanted, message);
    all.set(wanted, shared);
  }
  shared.join(port);
}

/** @type {{onconnect?: (event: MessageEvent) => void}} */ (self).onconnect = ({ ports: [port] }) => {
  if (port) port.onmessage = ({ data }) => hear(port, data);
};
