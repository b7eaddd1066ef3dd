// Ties sessions of the WebUI to conversations of HUX: one request per session
// and page, since the router gives back the conversation that there is.

import { ask, Refused } from '../pages/api.js';

const FIRST_RETRY = 2_000; // ms
const SLOWEST = 60_000; // ms
const UNNAMED = 'New chat';

/** @typedef {import('../pages/api.js').Conversation} Conversation */
/** @typedef {import('../hux.d.ts').ConversationCreate} ConversationCreate */
/** @typedef {import('../hux.d.ts').ConversationPatch} ConversationPatch */
/** @typedef {import('./session.js').Session} Session */

/** @type {Map<string, Promise<Conversation | null>>} */
const known = new Map();

/** @typedef {import('../pages/api.js').Capabilities} Capabilities */

/** @type {Promise<Capabilities | null> | undefined} */
let capabilities;

/**
 * Whether the router has a card switched on. It waits as long as the router
 * does not answer.
 *
 * @param {string} flag
 */
export async function isOn(flag) {
  capabilities ??= persistently(() => ask('/hux/v1/capabilities'));
  return (await capabilities)?.flags?.[flag]?.enabled === true;
}

/**
 * The conversation of a session; null where the router has no use for one. It
 * waits as long as the router does not answer.
 *
 * @param {Session} session
 * @returns {Promise<Conversation | null>}
 */
export function conversationOf(session) {
  let found = known.get(session.id);
  if (!found) {
    found = tie(session);
    known.set(session.id, found);
  }
  return found;
}

/**
 * Gives the conversation the session's title, which the WebUI makes only after
 * the first message, unless the conversation was changed before.
 *
 * @param {Session} session
 */
export async function rename(session) {
  const title = titleOf(session);
  const conversation = await conversationOf(session);
  if (!conversation || conversation.revision !== 1 || title === UNNAMED || title === conversation.title) return;
  const { id, revision } = conversation;
  conversation.revision += 1; // tried once
  /** @type {ConversationPatch} */
  const body = { title };
  await ask(`/hux/v1/conversations/${id}`, {
    method: 'PATCH',
    headers: { 'If-Match': `"${id}:${revision}"` },
    body,
  });
}

/** @param {Session} session */
async function tie(session) {
  if (!(await isOn('hux.activity_timeline')) && !(await isOn('hux.autonomy'))) return null;
  /** @type {ConversationCreate} */
  const body = { title: titleOf(session), external_ref: { system: 'webui', id: session.id } };
  return persistently(() => ask('/hux/v1/conversations', { method: 'POST', body }));
}

/**
 * A title as the router takes it.
 *
 * @param {Session} session
 */
function titleOf({ title }) {
  const line = title.normalize('NFC').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return Array.from(line).slice(0, 200).join('').trim() || UNNAMED;
}

/**
 * Asks until there is an answer; null if it is a refusal that will stay.
 *
 * @template T
 * @param {() => Promise<T>} request
 * @returns {Promise<T | null>}
 */
export async function persistently(request) {
  for (let wait = FIRST_RETRY; ; wait = Math.min(wait * 2, SLOWEST)) {
    try {
      return await request();
    } catch (error) {
      // Signed out passes too: the user may sign in in another tab.
      if (error instanceof Refused && !error.passing && error.status !== 401) return null;
    }
    await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
  }
}
