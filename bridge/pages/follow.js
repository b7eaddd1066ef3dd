// Keeps a page's facts fresh: asks again while the page is visible, at once
// when the browser is back online, more and more slowly while nothing answers.

import { ask, Refused } from './api.js';

const EVERY = 15_000; // ms
const FIRST_RETRY = 2_000; // ms
const SLOWEST = 60_000; // ms

/** @typedef {'live' | 'reconnecting' | 'offline' | 'signed-out' | 'refused'} State */

/** @type {Record<State, string>} */
export const STATE_TEXT = {
  live: 'Connected',
  reconnecting: 'Reconnecting…',
  offline: 'Offline',
  'signed-out': 'Signed out',
  refused: 'Refused',
};

/**
 * Follows what path answers.
 *
 * @template T
 * @param {string} path
 * @param {(state: State, answer?: T, error?: Refused) => void} show  called after each look
 * @param {{every?: number}} [options]  ms between two looks while all is well
 */
export function follow(path, show, { every = EVERY } = {}) {
  let failures = 0;
  let timer = 0;
  let running = false;

  const look = async () => {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    try {
      const answer = await ask(path);
      failures = 0;
      show('live', answer);
    } catch (error) {
      const refused = error instanceof Refused ? error : undefined;
      const passing = !refused || refused.passing;
      failures = passing ? failures + 1 : 0;
      if (passing) show(navigator.onLine ? 'reconnecting' : 'offline');
      else if (refused.status === 401) show('signed-out');
      else show('refused', undefined, refused);
    } finally {
      running = false;
      timer = setTimeout(look, failures === 0 ? every : Math.min(FIRST_RETRY * 2 ** (failures - 1), SLOWEST));
    }
  };

  window.addEventListener('online', look);
  window.addEventListener('offline', () => show('offline'));
  document.addEventListener('visibilitychange', look);
  void look();
}

/**
 * Shows a connection's state in the page's pill.
 *
 * @param {State} state
 */
export function showConnection(state) {
  const pill = document.querySelector('[data-connection]');
  if (!(pill instanceof HTMLElement) || pill.dataset.state === state) return;
  pill.dataset.state = state;
  pill.textContent = STATE_TEXT[state];
}
