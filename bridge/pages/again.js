// Signing in again, for what needs a recent sign-in: in a window of its own, at
// the provider. The page that waits for it goes on by itself.

import { element } from './dom.js';

const CHANNEL = 'hux-signed-in-again';
const PAGE = '/hux/api/ui/signed-in-again';

/** Tells the pages that wait. */
export function tellSignedInAgain() {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
}

/**
 * Makes the link to it.
 *
 * @param {() => void} proved  called when the person may have proved who they are
 * @returns {{link: HTMLElement, stop: () => void}}
 */
export function signInAgain(proved) {
  const href = `/hux/auth/sign-in?${new URLSearchParams({ fresh: '1', next: PAGE })}`;
  const link = element('a', { class: 'button primary', href, target: '_blank', rel: 'noopener' }, 'Sign in again');
  const channel = new BroadcastChannel(CHANNEL);
  const stop = () => channel.close();
  channel.addEventListener('message', () => {
    stop();
    proved();
  });
  return { link, stop };
}
