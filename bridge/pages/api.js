// What our pages ask the router, and the shapes it answers with.

/**
 * GET /hux/api/me
 *
 * @typedef {object} Me
 * @property {string} user     usr_…
 * @property {string} name     what to call the person
 * @property {string[]} roles
 * @property {{kind: string, id: string}} actor
 * @property {'chat' | 'console' | 'api'} site
 * @property {{id: string, slot: string, state: 'up' | 'down' | 'unknown'} | null} tenant  null: no slot
 * @property {boolean} slot_free  without a tenant: a visit to the chat claims a slot of the pool
 * @property {{signed_in_at: string, expires_at: string} | null} session
 * @property {string} chat_url
 * @property {string} console_url
 * @property {string} version
 * @property {Alarm[]} [alarms]  in conversations of theirs, the latest first
 * @property {string | null} [unasked_since]  since then their agent runs tools and no hook asks
 */

/**
 * A run in which a call ran that nobody had allowed.
 *
 * @typedef {object} Alarm
 * @property {string} conversation_id
 * @property {string} run_id
 * @property {string} at
 * @property {string} tool
 * @property {boolean} stopped  the run was asked to stop
 */

/** GET /hux/v1/capabilities @typedef {import('../hux.d.ts').Capabilities} Capabilities */
/** @typedef {import('../hux.d.ts').Conversation} Conversation */
/** @typedef {import('../hux.d.ts').Problem} Problem */

/**
 * GET /hux/api/status, for operators
 *
 * @typedef {object} Status
 * @property {string} version
 * @property {Slot[]} slots
 * @property {{free: number, total: number}} pool
 * @property {{name: string, description: string}[]} features  what is switched on
 * @property {{text: string, problem: boolean}[]} findings  those that are no problem are only to be known
 * @property {string[] | null} warnings
 * @property {{ready: boolean}} provider
 */

/**
 * @typedef {object} Slot
 * @property {string} id
 * @property {'up' | 'down' | 'unknown'} state
 * @property {string | null} checked_at
 * @property {boolean} pool        claimed at a first sign-in
 * @property {'free' | 'assigned' | 'freed'} assignment  freed: waits until its WebUI is emptied
 * @property {string} [tenant]
 * @property {string[] | null} members
 */

const TIMEOUT = 10_000; // ms
const SKEW = 2_000; // ms by which a clock may differ unheeded: the router tells whole seconds

let ahead = 0; // ms by which the router's clock is ahead of ours

/** The time by the router's clock, in ms as Date.now() has it. */
export function routerNow() {
  return Date.now() + ahead;
}

/** @param {Response} answer */
function readClock(answer) {
  const difference = Date.parse(answer.headers.get('Date') ?? '') + 500 - Date.now();
  if (Math.abs(difference) > SKEW) ahead = difference;
  else if (!Number.isNaN(difference)) ahead = 0;
}

/** What to say to somebody without a slot. */
export const NO_SLOT = 'You have no slot yet: there is no assistant of yours whose work could be shown here. Open the chat for one.';

/** The form of a conversation's id. */
export const CONVERSATION_ID = /^cnv_[0-9a-f]{32}$/;

/** An answer that is no success; message is what the router said about it. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {string} [code]  the router's word for it
   */
  constructor(status, message, code = '') {
    super(message);
    this.status = status;
    this.code = code;
  }

  /** Whether asking again soon may help. */
  get passing() {
    return this.code !== 'no_slot' && (this.status >= 500 || this.status === 429);
  }
}

/**
 * Reads why an answer is no success.
 *
 * @param {Response} answer
 * @returns {Promise<Refused>}
 */
export async function refusal(answer) {
  /** @type {Partial<Problem> | null} */
  const problem = await answer.json().catch(() => null);
  return new Refused(
    answer.status,
    typeof problem?.detail === 'string' ? problem.detail : `The router answered ${answer.status}.`,
    typeof problem?.code === 'string' ? problem.code : '',
  );
}

/**
 * Sends a request and returns the JSON of its answer, or null for none.
 *
 * @param {string} path
 * @param {{method?: string, body?: unknown, headers?: Record<string, string>}} [options]
 * @returns {Promise<any>}
 * @throws {Refused} for a status other than 2xx; TypeError or a DOMException when nothing answered
 */
export async function ask(path, { method = 'GET', body, headers = {} } = {}) {
  const answer = await fetch(path, {
    method,
    cache: 'no-store',
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT),
  });
  readClock(answer);
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw await refusal(answer);
}

/**
 * The cards that the router has switched on; none while it does not answer.
 *
 * @returns {Promise<(flag: string) => boolean>}
 */
export async function switchedOn() {
  /** @type {Capabilities | null} */
  const capabilities = await ask('/hux/v1/capabilities').catch(() => null);
  return (flag) => capabilities?.flags?.[flag]?.enabled === true;
}
