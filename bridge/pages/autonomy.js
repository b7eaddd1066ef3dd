// The page Autonomy: what the assistant may do without asking, what has been
// granted and forbidden, and what became of runs that were stopped.

import { ask, CONVERSATION_ID, NO_SLOT, Refused } from './api.js';
import { Grants } from './autonomy-grants.js';
import { PolicyForm } from './autonomy-policy.js';
import { element, part, plain } from './dom.js';
import { outcomeText } from './autonomy-words.js';
import { receiptLine } from './receipt.js';

const RETRY = 5_000; // ms
const REFRESH_EVERY = 15_000; // ms

/** @typedef {import('../hux.d.ts').Receipt} Receipt */
/** @typedef {{name: string, scope: string, conversation?: string}} Place  where a policy applies */

const note = part(document, '[data-note]');
const scope = /** @type {HTMLSelectElement} */ (part(document, '[data-scope]'));
const receipts = part(document, '[data-receipts]');
const receiptsNote = part(document, '[data-receipts-note]');
const moreReceipts = part(document, '[data-more-receipts]');
/** @type {Map<string, string>} titles of conversations */
const titles = new Map();
/** @type {string | null} */
let nextReceipts = null;
let read = 0; // receipts shown

const form = new PolicyForm(part(document, '[data-policy]'));
const grants = new Grants(titles);

scope.addEventListener('change', () => {
  if (form.changed && !confirm('Leave without saving what you have changed?')) {
    scope.value = form.scope;
    return;
  }
  history.replaceState(null, '', scope.value === 'user' ? location.pathname : `#${scope.value}`);
  void form.show(scope.value);
});
moreReceipts.addEventListener('click', () => void readReceipts(nextReceipts));
void begin();

async function begin() {
  try {
    const capabilities = await ask('/hux/v1/capabilities');
    if (!capabilities.flags?.['hux.autonomy']?.enabled) {
      note.textContent = 'This router has no autonomy switched on: the agent’s own settings decide.';
      return;
    }
    await readPlaces(capabilities.flags['hux.projects']?.enabled === true);
    await Promise.all([form.show(scope.value), grants.load(), readReceipts(null)]);
    note.hidden = true;
    part(document, '[data-autonomy]').hidden = false;
    setInterval(() => { if (!document.hidden) void form.refresh(); }, REFRESH_EVERY);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) {
      location.reload(); // the router leads to the sign-in
      return;
    }
    if (error instanceof Refused && error.code === 'no_slot') {
      note.textContent = NO_SLOT;
      return;
    }
    note.textContent = error instanceof Refused && !error.passing ? error.message : 'The router does not answer. Trying again by itself.';
    setTimeout(begin, RETRY);
  }
}

/**
 * Offers what a policy can be for, the newest conversations first.
 *
 * @param {boolean} projects
 */
async function readPlaces(projects) {
  /** @type {{items: import('./api.js').Conversation[]}} */
  const { items } = await ask('/hux/v1/conversations?limit=100');
  const conversations = element('optgroup', { label: 'One conversation' });
  for (const { id, title, state } of items) {
    titles.set(id, title);
    if (state !== 'forgotten') conversations.append(element('option', { value: `conversation:${id}` }, plain(title)));
  }
  const wanted = location.hash.slice(1);
  if (wanted.startsWith('conversation:') && CONVERSATION_ID.test(wanted.slice(13)) && !titles.has(wanted.slice(13))) {
    conversations.append(element('option', { value: wanted }, 'The conversation you came from'));
  }
  scope.replaceChildren(element('option', { value: 'user' }, 'Everywhere, unless something else is set'));
  if (projects) {
    /** @type {{items: {id: string, title?: string, name?: string}[]}} */
    const list = await ask('/hux/v1/projects?limit=100').catch(() => ({ items: [] }));
    const group = element('optgroup', { label: 'One project' });
    for (const { id, title, name } of list.items) group.append(element('option', { value: `project:${id}` }, plain(title ?? name ?? id)));
    if (list.items.length > 0) scope.append(group);
  }
  if (conversations.childElementCount > 0) scope.append(conversations);
  if ([...scope.options].some((option) => option.value === wanted)) scope.value = wanted;
  grants.offer(items);
}

/** @param {string | null} cursor */
async function readReceipts(cursor) {
  const query = new URLSearchParams({ limit: '20', ...(cursor ? { cursor } : {}) });
  /** @type {{items: Receipt[], next: string | null}} */
  const { items, next } = await ask(`/hux/v1/receipts?${query}`);
  for (const receipt of items) {
    const title = titles.get(receipt.conversation_id);
    const where = `${title ? `${plain(title)} · ` : ''}${new Date(receipt.completed_at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}`;
    const line = receiptLine(
      { id: receipt.id, outcome: receipt.outcome, effects: receipt.side_effects.length, more: where },
      () => Promise.resolve(receipt),
    );
    receipts.append(element('li', { 'aria-label': outcomeText(receipt.outcome) }, line));
    read += 1;
  }
  nextReceipts = next;
  moreReceipts.hidden = next === null;
  receiptsNote.hidden = read > 0;
  receiptsNote.textContent = 'You have stopped nothing yet. A receipt says what a run had done when it was stopped.';
}
