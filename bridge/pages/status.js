// The operators' page: slots, what the self-check found, warnings.

import { follow, showConnection } from './follow.js';
import { fact, moment, shortened, SLOT_TEXT } from './me.js';

/** @typedef {import('./api.js').Status} Status */

const ASSIGNMENT_TEXT = { free: 'Free', assigned: '', freed: 'Freed, to be emptied' };

follow('/hux/api/status', (state, /** @type {Status | undefined} */ status, refused) => {
  showConnection(state);
  const failed = document.querySelector('[data-failed]');
  if (failed instanceof HTMLElement) {
    const text =
      state === 'refused' ? (refused?.message ?? '')
      : state === 'signed-out' ? 'You are signed out. Reload the page to sign in.'
      : state === 'live' ? ''
      : 'The router does not answer. What you see is from before.';
    failed.hidden = text === '';
    failed.textContent = text;
  }
  if (status) show(status);
});

/** @param {Status} status */
function show(status) {
  fact('version', status.version);
  fact('provider', status.provider?.ready ? 'Ready' : 'Not reachable; who is signed in goes on');
  fact('pool', status.pool?.total > 0 ? `${status.pool.free} of ${status.pool.total} in the pool` : 'No pool; every slot has fixed members');
  list('warnings', status.warnings ?? [], 'None.');
  list('findings', status.findings ?? [], 'Nothing is off.');
  const body = document.querySelector('[data-slots]');
  const rows = (status.slots ?? []).map(slotRow);
  if (rows.length === 0) rows.push(emptyRow('No slots are configured.'));
  body?.replaceChildren(...rows);
}

/**
 * @param {string} name
 * @param {string[]} texts
 * @param {string} none
 */
function list(name, texts, none) {
  const items = (texts.length > 0 ? texts : [none]).map((text) => {
    const item = document.createElement('li');
    item.textContent = text;
    item.classList.toggle('muted', texts.length === 0);
    return item;
  });
  document.querySelector(`[data-list="${name}"]`)?.replaceChildren(...items);
}

/** @param {import('./api.js').Slot} slot */
function slotRow(slot) {
  const row = document.createElement('tr');
  const pill = document.createElement('span');
  pill.className = 'pill';
  pill.dataset.state = slot.state;
  pill.textContent = SLOT_TEXT[slot.state] ?? slot.state;
  const tenant = cell(slot.tenant ? shortened(slot.tenant) : (ASSIGNMENT_TEXT[slot.assignment] ?? slot.assignment));
  if (slot.tenant) tenant.title = slot.tenant;
  else tenant.className = 'muted';
  const members = cell((slot.members ?? []).map(shortened).join(', ') || 'Nobody');
  members.title = (slot.members ?? []).join(', ');
  const state = document.createElement('td');
  state.append(pill);
  row.append(cell(slot.id), state, tenant, members, cell(slot.checked_at ? moment(slot.checked_at) : 'Never'));
  return row;
}

/** @param {string} text */
function cell(text) {
  const made = document.createElement('td');
  made.textContent = text;
  return made;
}

/** @param {string} text */
function emptyRow(text) {
  const row = document.createElement('tr');
  const only = cell(text);
  only.colSpan = 5;
  only.className = 'muted';
  row.append(only);
  return row;
}
