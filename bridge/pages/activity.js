// The activity timeline as a whole page: the user's conversations, and what
// happens in the one that the address names after its #.

import { ask, CONVERSATION_ID, Refused, switchedOn } from './api.js';
import { element, part, timeElement } from './dom.js';
import { Timeline } from './timeline.js';

const REFRESH_EVERY = 15_000; // ms
const LIMIT = 50;

/** @typedef {import('./api.js').Conversation} Conversation */

const page = part(document, '[data-activity]');
const list = part(document, '[data-conversations]');
const note = part(document, '[data-conversations-note]');
const more = part(document, '[data-more]');
const title = part(document, '#timeline-title');
const timeline = new Timeline(part(document, '[data-timeline]'), (id, newest) => {
  const conversation = known.get(id);
  if (!conversation || conversation.head_seq >= newest.seq) return;
  conversation.head_seq = newest.seq;
  conversation.last_activity_at = newest.created_at;
  draw();
});

/** @type {Map<string, Conversation>} */
const known = new Map();
/** @type {string | null} */
let next = null;
let paged = false; // whether older ones were asked for

more.addEventListener('click', () => load(next));
window.addEventListener('hashchange', () => choose(true));
document.addEventListener('visibilitychange', refresh);
setInterval(refresh, REFRESH_EVERY);
void Promise.all([switchedOn(), load(null)]).then(([on]) => {
  if (on('hux.autonomy')) timeline.withAutonomy(!on('hux.activity_timeline'));
  const first = list.querySelector('a');
  if (location.hash === '' && first && matchMedia('(min-width: 800px)').matches) {
    history.replaceState(null, '', first.getAttribute('href'));
  }
  choose(false);
});

function refresh() {
  if (!document.hidden) void load(null);
}

/** @param {string | null} cursor  null for the newest */
async function load(cursor) {
  const query = new URLSearchParams({ limit: String(LIMIT), ...(cursor ? { cursor } : {}) });
  try {
    /** @type {{items: Conversation[], next: string | null}} */
    const answer = await ask(`/hux/v1/conversations?${query}`);
    for (const conversation of answer.items) known.set(conversation.id, conversation);
    paged ||= cursor !== null;
    if (cursor !== null || !paged) next = answer.next;
    draw();
  } catch (error) {
    if (error instanceof Refused && error.status === 401 && known.size > 0) location.reload(); // the router leads to the sign-in
    note.hidden = false;
    note.textContent = error instanceof Refused ? error.message : 'The router does not answer. Trying again by itself.';
  }
}

function draw() {
  const focused = document.activeElement?.closest('[data-conversations] a')?.getAttribute('href');
  const chosen = chosenId();
  const rows = [...known.values()]
    .sort((a, b) => (b.last_activity_at ?? '').localeCompare(a.last_activity_at ?? '') || b.id.localeCompare(a.id))
    .map((conversation) => row(conversation, conversation.id === chosen));
  list.replaceChildren(...rows);
  if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${focused}"]`))?.focus();
  note.hidden = rows.length > 0;
  note.textContent = 'No conversations yet. Start one in the chat.';
  more.hidden = next === null;
  name();
}

/**
 * @param {Conversation} conversation
 * @param {boolean} chosen
 */
function row(conversation, chosen) {
  const link = element(
    'a',
    { href: `#${conversation.id}`, ...(chosen ? { 'aria-current': 'true' } : {}) },
    element('span', { class: 'name' }, nameOf(conversation)),
    element(
      'span',
      { class: 'muted' },
      ...(conversation.last_activity_at ? [timeElement(conversation.last_activity_at), ' · '] : []),
      conversation.head_seq === 1 ? '1 event' : `${conversation.head_seq} events`,
    ),
  );
  return element('li', {}, link);
}

/** @param {Conversation} conversation */
function nameOf(conversation) {
  return conversation.state === 'forgotten' ? 'Forgotten conversation' : conversation.title;
}

/** @returns {string | null} */
function chosenId() {
  const id = location.hash.slice(1);
  return CONVERSATION_ID.test(id) ? id : null;
}

/** @param {boolean} byUser */
function choose(byUser) {
  const id = chosenId();
  page.classList.toggle('has-chosen', id !== null);
  timeline.show(id);
  for (const link of list.querySelectorAll('a')) {
    if (link.getAttribute('href') === `#${id}`) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
  name();
  if (byUser && id) title.focus();
}

function name() {
  const conversation = known.get(chosenId() ?? '');
  title.textContent = conversation ? nameOf(conversation) : 'Activity';
}
