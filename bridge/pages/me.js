// Shows who the user is, in the pages that have the section for it.

import { copyButton } from './copy.js';
import { follow, showConnection } from './follow.js';

/** @typedef {import('./api.js').Me} Me */

/** What to say of a slot's state. @type {Record<string, string>} */
export const SLOT_TEXT = { up: 'Running', down: 'Not answering', unknown: 'Not looked at yet' };

/**
 * Follows /hux/api/me and fills the page's section with it.
 *
 * @param {(state: import('./follow.js').State, me?: Me) => void} [also]  called after each look
 */
export function followMe(also) {
  /** @type {string} */
  let user = '';
  copyButton(() => user);
  follow('/hux/api/me', (state, /** @type {Me | undefined} */ me) => {
    showConnection(state);
    const section = document.querySelector('[data-me]');
    section?.setAttribute('aria-busy', 'false');
    const facts = section?.querySelector('.facts');
    if (facts instanceof HTMLElement) facts.hidden = state === 'signed-out';
    if (me) {
      user = me.user;
      showMe(me);
    }
    notice(state, me);
    also?.(state, me);
  });
}

/** @param {Me} me */
function showMe(me) {
  fact('name', me.name || 'No name given');
  const id = fact('user', shortened(me.user));
  if (id) id.title = me.user;
  row('roles', me.roles?.length > 0);
  fact('roles', (me.roles ?? []).join(', '));
  row('tenant', me.tenant !== null);
  fact('tenant', me.tenant ? shortened(me.tenant.id) : '');
  fact('slot', me.tenant ? me.tenant.slot : 'None');
  const state = document.querySelector('[data-slot-state]');
  if (state instanceof HTMLElement) {
    state.hidden = !me.tenant;
    state.dataset.state = me.tenant?.state ?? '';
    state.textContent = me.tenant ? (SLOT_TEXT[me.tenant.state] ?? me.tenant.state) : '';
  }
  row('since', me.session !== null);
  row('until', me.session !== null);
  fact('since', me.session ? moment(me.session.signed_in_at) : '');
  fact('until', me.session ? `${moment(me.session.expires_at)} at the latest` : '');
}

/**
 * @param {import('./follow.js').State} state
 * @param {Me | undefined} me
 */
function notice(state, me) {
  const text =
    state === 'signed-out' ? 'You are signed out.'
    : state === 'offline' ? 'Your device is offline. What you see is from before.'
    : state === 'reconnecting' ? 'The router does not answer. Trying again by itself.'
    : me && !me.tenant ? withoutSlot(me)
    : me?.tenant?.state === 'down' ? 'Your slot does not answer. The chat comes back by itself.'
    : me?.unasked_since ? `Your agent runs tools since ${moment(me.unasked_since)} and nobody is asked: its hook is not at work. Tell your operator.`
    : me?.alarms?.[0] ? `A tool ran in a chat of yours that nothing had allowed: ${me.alarms[0].tool}, ${moment(me.alarms[0].at)}.`
    : '';
  const place = document.querySelector('[data-notice]');
  if (!(place instanceof HTMLElement)) return;
  place.hidden = text === '';
  if (place.textContent !== text) place.textContent = text;
}

/** @param {Me} me */
function withoutSlot(me) {
  if (me.actor.kind !== 'human') return 'This account is for programs: its token is for the API.';
  if (me.slot_free) return 'You have no chat yet. Open the chat to get one.';
  if (isOperator(me)) return 'No chat is assigned to you. You need none to operate.';
  return 'No chat is assigned to you. An operator can assign one; give them your user id.';
}

/** @param {Me} me */
export function isOperator(me) {
  return me.roles?.includes('hux-operator');
}

/**
 * Writes a fact into its place, if the page has it, as text.
 *
 * @param {string} name
 * @param {string} text
 * @returns {HTMLElement | undefined}
 */
export function fact(name, text) {
  const place = document.querySelector(`[data-fact="${name}"]`);
  if (!(place instanceof HTMLElement)) return undefined;
  place.textContent = text;
  return place;
}

/**
 * @param {string} name
 * @param {boolean} shown
 */
function row(name, shown) {
  const place = document.querySelector(`[data-row="${name}"]`);
  if (place instanceof HTMLElement) place.hidden = !shown;
}

/**
 * Shortens an id such as usr_0123456789abcdef to what tells it from others.
 *
 * @param {string} id
 */
export function shortened(id) {
  return id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id;
}

/**
 * Writes a time for the reader's own place.
 *
 * @param {string} time  RFC 3339
 */
export function moment(time) {
  const date = new Date(time);
  if (Number.isNaN(date.valueOf())) return time;
  return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
