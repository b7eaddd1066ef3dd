// The operators' page: slots, what the self-check found, warnings.

import { makeCopyButton } from './copy.js';
import { follow, showConnection } from './follow.js';
import { fact, moment, shortened, SLOT_TEXT } from './me.js';

/** @typedef {import('./api.js').Status} Status */
/** @typedef {import('./api.js').Slot} Slot */

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
  list('features', (status.features ?? []).map(featureItem), 'Nothing besides the chat.');
  list('warnings', (status.warnings ?? []).map((text) => element('li', text)), 'None.');
  list('findings', (status.findings ?? []).map(findingItem), 'Nothing is off.');
  showSlots(status.slots ?? []);
}

/**
 * @param {string} name
 * @param {HTMLElement[]} items
 * @param {string} none
 */
function list(name, items, none) {
  if (items.length === 0) {
    items = [element('li', none)];
    items[0]?.classList.add('muted');
  }
  document.querySelector(`[data-list="${name}"]`)?.replaceChildren(...items);
}

/** @param {Status['features'][number]} feature */
function featureItem({ name, description }) {
  const flag = element('code', name);
  flag.className = 'muted';
  return element('li', description, document.createElement('br'), flag);
}

/** @param {Status['findings'][number]} finding */
function findingItem({ text, problem }) {
  const item = element('li', problem ? pill('down', 'Problem') : pill('off', 'Note'), ` ${text}`);
  item.dataset.problem = String(problem);
  return item;
}

/** The rows on show by slot, each with what it shows. @type {Map<string, {shows: string, row: HTMLElement}>} */
const rows = new Map();

/**
 * Shows the slots. A row that says the same stays as it is, with the focus
 * that one of its buttons may have.
 *
 * @param {Slot[]} slots
 */
function showSlots(slots) {
  const body = document.querySelector('[data-slots]');
  if (!body) return;
  for (const slot of slots) {
    const shows = JSON.stringify({ ...slot, checked_at: null });
    if (rows.get(slot.id)?.shows !== shows) rows.set(slot.id, { shows, row: slotRow(slot) });
    const looked = rows.get(slot.id)?.row.querySelector('[data-looked]');
    if (looked) looked.textContent = slot.checked_at ? moment(slot.checked_at) : 'Never';
  }
  const wanted = slots.length > 0 ? slots.flatMap(({ id }) => rows.get(id)?.row ?? []) : [emptyRow()];
  const shown = [...body.children];
  if (wanted.length !== shown.length || wanted.some((row, i) => row !== shown[i])) body.replaceChildren(...wanted);
}

/** @param {Slot} slot */
function slotRow(slot) {
  const tenant = slot.tenant ? [idWithCopy(slot.tenant)] : [muted(ASSIGNMENT_TEXT[slot.assignment] ?? slot.assignment)];
  const members = (slot.members ?? []).map(idWithCopy);
  const looked = cell('Last look');
  looked.dataset.looked = '';
  return element(
    'tr',
    cell('Slot', slot.id),
    cell('State', pill(slot.state, SLOT_TEXT[slot.state] ?? slot.state)),
    cell('Tenant', ...tenant),
    cell('Members', ...(members.length > 0 ? members : [muted('Nobody')])),
    looked,
  );
}

function emptyRow() {
  const only = element('td', 'No slots are configured.');
  only.colSpan = 5;
  only.className = 'muted';
  return element('tr', only);
}

/**
 * @param {string} label  of its column, which a phone shows before it
 * @param {(Node | string)[]} content
 */
function cell(label, ...content) {
  const made = element('td', ...content);
  made.dataset.label = label;
  return made;
}

/** @param {string} id */
function idWithCopy(id) {
  const code = element('code', shortened(id));
  code.title = id;
  const made = element('div', code, makeCopyButton(id));
  made.className = 'id';
  return made;
}

/**
 * @param {string} state
 * @param {string} text
 */
function pill(state, text) {
  const made = element('span', text);
  made.className = 'pill';
  made.dataset.state = state;
  return made;
}

/** @param {string} text */
function muted(text) {
  const made = element('span', text);
  made.className = 'muted';
  return made;
}

/**
 * Makes an element; strings in it are text.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {(Node | string)[]} content
 */
function element(tag, ...content) {
  const made = document.createElement(tag);
  made.append(...content);
  return made;
}
