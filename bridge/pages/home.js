// The console's first page.

import { ask, Refused } from './api.js';
import { clearChat } from './chat.js';
import { followMe } from './me.js';

let signedIn = false;
followMe((state) => {
  // The session ended while the page was open: the router's own answer to
  // this address is the way back in.
  if (state === 'signed-out' && signedIn) location.reload();
  signedIn ||= state === 'live';
});
everywhere();

function everywhere() {
  const button = document.querySelector('[data-everywhere]');
  const dialog = document.querySelector('[data-confirm]');
  const confirmed = document.querySelector('[data-confirmed]');
  const failed = document.querySelector('[data-failed]');
  if (
    !(button instanceof HTMLButtonElement && dialog instanceof HTMLDialogElement) ||
    !(confirmed instanceof HTMLButtonElement && failed instanceof HTMLElement)
  ) return;
  button.hidden = false;
  button.addEventListener('click', () => {
    failed.hidden = true;
    dialog.showModal();
  });
  confirmed.addEventListener('click', async () => {
    confirmed.disabled = true;
    try {
      await ask('/hux/api/sessions/end', { method: 'POST', body: {} });
      signedIn = false; // the next look need not lead anywhere
      // Its session has ended as well, so this is for what it keeps.
      location.assign(`/hux/api/ui/signed-out${(await clearChat()) ? '' : '?chat=kept'}`);
    } catch (error) {
      failed.textContent = error instanceof Refused ? error.message : 'The router did not answer. Nothing was ended.';
      failed.hidden = false;
      confirmed.disabled = false;
    }
  });
}
