// The console's first page.

import { ask, Refused } from './api.js';
import { followMe } from './me.js';

/** @typedef {import('./api.js').Capabilities} Capabilities */

const OPERATOR = 'hux-operator';

let signedIn = false;
followMe((state, me) => {
  const link = document.querySelector('[data-operators]');
  if (me && link instanceof HTMLElement) link.hidden = !me.roles?.includes(OPERATOR);
  // The session ended while the page was open: the router's own answer to
  // this address is the way back in.
  if (state === 'signed-out' && signedIn) location.reload();
  signedIn ||= state === 'live';
});
void showCapabilities();
everywhere();

async function showCapabilities() {
  const section = document.querySelector('[data-capabilities]');
  const note = section?.querySelector('[data-note]');
  const list = section?.querySelector('[data-flags]');
  if (!(section && note instanceof HTMLElement && list instanceof HTMLElement)) return;
  try {
    /** @type {Capabilities} */
    const capabilities = await ask('/hux/v1/capabilities');
    const flags = Object.entries(capabilities.flags ?? {}).filter(([, flag]) => flag.listed !== false);
    const activity = document.querySelector('a[data-activity]');
    if (activity instanceof HTMLElement) activity.hidden = !capabilities.flags?.['hux.activity_timeline']?.enabled;
    list.replaceChildren(...flags.map(([name, flag]) => flagRow(name, flag)));
    list.hidden = flags.length === 0;
    note.textContent = `Contract ${capabilities.contract_version}.`;
  } catch (error) {
    note.textContent =
      error instanceof Refused && error.status === 404 ? 'Nothing besides the chat: the HUX API is switched off here.'
      : error instanceof Refused ? error.message
      : 'The router did not answer. Reload the page to try again.';
  } finally {
    section.setAttribute('aria-busy', 'false');
  }
}

/**
 * @param {string} name
 * @param {Capabilities['flags'][string]} flag
 */
function flagRow(name, flag) {
  const row = document.createElement('li');
  const label = document.createElement('span');
  label.textContent = name;
  const pill = document.createElement('span');
  pill.className = 'pill';
  pill.dataset.state = flag.enabled ? 'on' : 'off';
  pill.textContent = flag.enabled ? 'On' : 'Off';
  row.append(label, pill);
  if (!flag.enabled && flag.blocked_by?.length > 0) {
    const why = document.createElement('span');
    why.className = 'muted';
    why.textContent = `needs ${flag.blocked_by.join(', ')}`;
    pill.before(why);
  }
  return row;
}

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
      location.assign('/hux/api/ui/signed-out');
    } catch (error) {
      failed.textContent = error instanceof Refused ? error.message : 'The router did not answer. Nothing was ended.';
      failed.hidden = false;
      confirmed.disabled = false;
    }
  });
}
