// Reports what the page shows of a run, for where no hook of the agent does.
// The page's own streams are listened to, none is opened, and what was said or
// done with a tool is left out: kind, tool name, state and ids alone. Each
// report has a key of its own, so that several tabs and a stream that is
// replayed make one event of it. A stop that is asked for in the page is asked
// of the router too, so that there is a receipt.

import { ask, Refused } from '../pages/api.js';
import { conversationOf, isOn, persistently } from './conversation.js';
import { currentSession, isForeignId, webui } from './session.js';

const LOOK_EVERY = 1_000; // ms
const RUNS_KEPT = 50;
const TOOL_NAME = /^[\w.:/-]{1,80}$/;
// Shorter ids, such as call_1, are given out anew with each run.
const UNIQUE_FROM = 16; // characters

/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../hux.d.ts').EventCreate} EventCreate */
/** @typedef {Exclude<import('../hux.d.ts').defs.EventStatus, 'progress' | null>} Status */

/** A run that the page shows. */
class Run {
  /**
   * @param {string} id
   * @param {Session} session
   */
  constructor(id, session) {
    this.id = id;
    this.session = session;
    this.heard = false; // whether its stream is listened to
    this.over = false;
    this.stopped = false; // its stop was asked for
    this.ended = false; // the router takes nothing of it any more
    /** @type {Set<string>} */
    this.said = new Set();
    /** @type {Set<string>} of the stream's events, some of which come again */
    this.seen = new Set();
    /** @type {Map<string, number>} calls without an id, by tool and state */
    this.calls = new Map();
    /** @type {Promise<unknown>} what was reported so far, in order */
    this.reports = Promise.resolve();
    this.report('run.started', 'started', 'A run started', {});
  }

  /**
   * @param {EventCreate['kind']} kind
   * @param {Status | null} status
   * @param {string} summary
   * @param {Record<string, string | number>} data
   */
  report(kind, status, summary, data) {
    const key = `page:${kind}:${this.id}:${data.tool_call_id ?? ''}`.slice(0, 255);
    if (this.said.has(key)) return;
    this.said.add(key);
    /** @type {EventCreate} */
    const body = { kind, status, summary, run_id: this.id, data, sensitivity: 'normal', redaction: { level: 'none' } };
    this.tell(async (conversation) => {
      if (!this.ended && await isOn('hux.activity_timeline')) {
        await ask(`/hux/v1/conversations/${conversation}/events`, { method: 'POST', headers: { 'Idempotency-Key': key }, body });
      }
    });
  }

  /** Asks for the run's stop. */
  stop() {
    if (this.stopped) return;
    this.stopped = true;
    this.tell(async (conversation) => {
      if (await isOn('hux.autonomy')) {
        await ask(`/hux/v1/conversations/${conversation}/runs/${this.id}/cancel`, { method: 'POST', body: {} });
      }
    });
  }

  /** @param {(conversation: string) => Promise<void>} request  sent after those before it */
  tell(request) {
    this.reports = this.reports.then(async () => {
      const conversation = await conversationOf(this.session);
      if (!conversation) return;
      await persistently(() => request(conversation.id).catch((error) => {
        if (error instanceof Refused && error.code === 'run_ended') this.ended = true;
        throw error;
      }));
    });
  }

  /** @param {Exclude<Status, 'started'> | null} status  null: not known how */
  finish(status) {
    if (this.over) return;
    this.over = true;
    this.report('run.finished', status, `The run ${RUN_ENDED[status ?? 'unknown']}`, {});
  }

  /**
   * @param {MessageEvent} event  of the WebUI's server
   * @param {boolean} finished
   */
  tool({ data: told, lastEventId }, finished) {
    if (lastEventId !== '' && this.seen.has(lastEventId)) return;
    this.seen.add(lastEventId);
    const { tid, name, is_error: failed, duration } = /** @type {Record<string, unknown>} */ (JSON.parse(told));
    const tool = typeof name === 'string' && TOOL_NAME.test(name) ? name : 'tool';
    const call = this.call(isForeignId(tid) ? tid : '', tool, finished);
    if (!isForeignId(call)) return;
    /** @type {Record<string, string | number>} */
    const data = { tool_call_id: call, tool };
    if (!finished) {
      this.report('tool.started', 'started', `${tool} started`, data);
      return;
    }
    if (typeof duration === 'number' && duration >= 0) data.duration_ms = Math.round(duration * 1000);
    if (failed === true) this.report('tool.finished', 'failed', `${tool} failed`, data);
    else this.report('tool.finished', 'completed', `${tool} finished`, data);
  }

  /**
   * An id of a tool call that is unique in the conversation. A gateway may give
   * none: then the first end of a tool's call is that of its first start.
   *
   * @param {string} tid
   * @param {string} tool
   * @param {boolean} finished
   */
  call(tid, tool, finished) {
    if (tid.length >= UNIQUE_FROM) return tid;
    if (tid !== '') return `${this.id}.${tid}`;
    const place = `${tool} ${finished}`;
    const n = (this.calls.get(place) ?? 0) + 1;
    this.calls.set(place, n);
    return `${this.id}.${tool.replaceAll('/', '-')}.${n}`;
  }
}

const RUN_ENDED = { completed: 'finished', failed: 'failed', cancelled: 'was stopped', unknown: 'ended' };

/** @type {Map<string, Run>} */
const runs = new Map();

/**
 * @param {unknown} id
 * @returns {Run | null}
 */
function runOf(id) {
  const session = currentSession();
  if (!isForeignId(id)) return null;
  const known = runs.get(id);
  if (known || !session) return known ?? null;
  const run = new Run(id, session);
  runs.set(id, run);
  for (const old of runs.keys()) {
    if (runs.size <= RUNS_KEPT) break;
    runs.delete(old);
  }
  return run;
}

/**
 * Listens to a stream of the page's, if it is a run's.
 *
 * @param {EventSource} source
 */
function listen(source) {
  const url = new URL(source.url, location.href);
  if (!url.pathname.endsWith('/api/chat/stream')) return;
  const id = url.searchParams.get('stream_id');

  /**
   * @param {string} name
   * @param {(run: Run, event: MessageEvent) => void} take
   */
  const on = (name, take) => source.addEventListener(name, (event) => {
    try {
      const run = runOf(id);
      if (run && event instanceof MessageEvent) take(run, event);
    } catch (error) {
      console.warn('hux bridge:', error);
    }
  });
  const run = runOf(id);
  if (run) run.heard = true;
  on('tool', (run, event) => run.tool(event, false));
  on('tool_complete', (run, event) => run.tool(event, true));
  on('done', (run) => run.finish('completed'));
  on('cancel', (run) => {
    run.stop(); // wherever it was asked for
    run.finish('cancelled');
  });
  on('apperror', (run) => run.finish('failed'));
}

/**
 * Starts reporting: from the streams that the page opens from now on, and, for
 * one that was open before, from the run that the page says it shows.
 */
export function startReporting() {
  const Native = window.EventSource;
  window.EventSource = class extends Native {
    /**
     * @param {string | URL} url
     * @param {EventSourceInit} [options]
     */
    constructor(url, options) {
      super(url, options);
      try {
        listen(this);
      } catch (error) {
        console.warn('hux bridge:', error);
      }
    }
  };

  document.addEventListener('DOMContentLoaded', watchStop);
  if (document.readyState !== 'loading') watchStop();

  /** @type {Run | null} */
  let shown = null;
  setInterval(() => {
    const id = webui()?.activeStreamId ?? null;
    if (shown && shown.id !== id) {
      // Left behind is not over: the page may show another session.
      if (!shown.heard && currentSession()?.id === shown.session.id) shown.finish(null);
      shown = null;
    }
    if (id !== null && shown === null) shown = runOf(id);
  }, LOOK_EVERY);
}

/** Hears of the page's own stop, whose function is global there. */
function watchStop() {
  const page = /** @type {{cancelStream?: unknown}} */ (/** @type {unknown} */ (window));
  const native = page.cancelStream;
  if (typeof native !== 'function' || 'hux' in native) return;
  page.cancelStream = Object.assign(function stop(/** @type {unknown[]} */ ...args) {
    try {
      runOf(webui()?.activeStreamId)?.stop();
    } catch (error) {
      console.warn('hux bridge:', error);
    }
    // @ts-ignore: this is the caller's
    return native.apply(this, args);
  }, { hux: true });
}
