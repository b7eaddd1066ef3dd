// The pages that stand in for the WebUI while there is no slot or the slot is
// down: they look again, and load the address anew when it may answer.

import { copyButton } from './copy.js';
import { follow } from './follow.js';
import { fact, isOperator } from './me.js';

const EVERY = 4_000; // ms between two looks
// What /hux/api/me says may lag behind; so now and then the address is tried.
const TRY_AFTER = 60_000; // ms
const AT_LEAST = 3_000; // ms that a page stays, so that two parts that disagree make no storm

const waitsForSlot = document.querySelector('[data-waiting="slot"]') !== null;
const since = Date.now();

let user = '';
copyButton(() => user);

follow(
  '/hux/api/me',
  (state, /** @type {import('./api.js').Me | undefined} */ me) => {
    const age = Date.now() - since;
    const ready = (waitsForSlot ? me?.tenant || me?.slot_free : me?.tenant?.state === 'up') || state === 'signed-out';
    if (age > (ready ? AT_LEAST : TRY_AFTER) && (ready || state === 'live')) {
      location.reload();
      return;
    }
    if (me && !user) showUser(me);
    const progress = document.querySelector('[data-progress]');
    if (!progress) return;
    progress.textContent =
      state === 'offline' ? 'Your device is offline.'
      : state === 'reconnecting' ? 'The router does not answer. Trying again by itself.'
      : waitsForSlot ? 'Nothing yet. This page looks again by itself.'
      : 'Not yet. This page looks again by itself.';
  },
  { every: EVERY },
);

/** @param {import('./api.js').Me} me */
function showUser(me) {
  user = me.user;
  const console_ = document.querySelector('[data-operators]');
  if (console_ instanceof HTMLElement) console_.hidden = !isOperator(me);
  const place = document.querySelector('[data-id]');
  if (!(place instanceof HTMLElement)) return;
  fact('user', user);
  place.hidden = false;
}
