// What waits for a decision: framed by the bridge over the WebUI's composer,
// where it shows one card at a time and nothing while none waits, or as a page
// of its own for the conversation that the address names after its #, or for
// all of them.

import { ask, CONVERSATION_ID, NO_SLOT, Refused, switchedOn } from './api.js';
import { Approvals } from './approvals.js';
import { Decisions } from './decisions-view.js';
import { part } from './dom.js';
import { Feed } from './feed.js';
import { follow as followFacts } from './follow.js';
import { joinBridge } from './theme.js';

const RETRY = 10_000; // ms
const PRESENT_EVERY = 30_000; // ms

const framed = window.parent !== window;
const note = part(document, '[data-note]');
const unasked = part(document, '[data-unasked]');
/** @type {Map<string, string>} titles of conversations */
const names = new Map();
/** @type {Feed | null} */
let feed = null;
/** @type {string | null} */
let conversation = null;
let enabled = false;
let presence = 0; // timer
let room = Infinity; // px, where the bridge tells

const bridge = joinBridge((id) => {
  conversation = id;
  if (enabled) follow();
}, {
  room: (height) => {
    room = height;
    decisions.fit();
  },
  moved: () => decisions.guard.restart(),
});

const decisions = new Decisions(part(document, '[data-decisions]'), {
  approvals: () => approvals,
  single: framed,
  room: () => (framed ? room : window.innerHeight),
  left: () => bridge?.tell({ type: 'left' }),
  where: (id) => (framed || conversation !== null ? undefined : names.get(id) ?? 'another conversation'),
  counted: (count) => {
    bridge?.tell({ type: 'pending', count });
    if (!framed && note.dataset.failed === undefined) note.textContent = count > 0 ? 'The first decision counts, wherever it is made.' : 'Nothing waits for you. What is asked shows here by itself.';
  },
});
const approvals = new Approvals((pending, settled) => decisions.show(pending, settled));

document.documentElement.classList.toggle('framed', framed);
if (framed) new ResizeObserver(() => tellSize()).observe(part(document, 'main'));
else window.addEventListener('hashchange', () => location.reload());
void enable();

async function enable() {
  const answer = framed ? null : await ask('/hux/v1/capabilities').catch((error) => error);
  if (answer?.status === 401) {
    location.assign('/hux/auth/sign-in?next=/hux/api/ui/decisions');
    return;
  }
  if (answer?.code === 'no_slot') {
    note.textContent = NO_SLOT;
    return;
  }
  const on = await switchedOn();
  if (!on('hux.autonomy')) {
    note.textContent = 'There is nothing to decide here: this router has no approvals switched on, or it does not answer.';
    setTimeout(enable, RETRY);
    return;
  }
  approvals.alone = !on('hux.activity_timeline');
  if (!framed) {
    const id = location.hash.slice(1);
    conversation = CONVERSATION_ID.test(id) ? id : null;
    approvals.alone ||= conversation === null; // there is no log of all conversations
    if (!(await readNames())) return;
    followFacts('/hux/api/me', (state, /** @type {import('./api.js').Me | undefined} */ me) => {
      decisions.alarm((me?.alarms ?? []).filter(({ conversation_id: id }) => conversation === null || id === conversation));
      unasked.hidden = !me?.unasked_since;
    });
  }
  enabled = true;
  follow();
}

/** Follows the conversation that is open. */
function follow() {
  if (framed && conversation === null) {
    approvals.show(undefined);
    stayPresent();
  } else {
    approvals.show(conversation);
  }
  if (feed?.conversation === conversation) return;
  feed?.close();
  feed = conversation === null || approvals.alone ? null : new Feed(conversation, {
    begin: (events) => {
      decisions.warn(events);
      approvals.begin(events);
    },
    more: (events) => {
      decisions.warn(events);
      approvals.take(events);
    },
    state: () => {},
  });
}

/**
 * Lets the router know that somebody is here to decide, before there is a
 * conversation whose first message may ask for it.
 */
function stayPresent() {
  clearTimeout(presence);
  if (conversation !== null) return;
  if (!document.hidden) void ask('/hux/v1/approvals?limit=1').catch(() => {}); // the next look may do
  presence = setTimeout(stayPresent, PRESENT_EVERY);
}

/** @returns {Promise<boolean>} whether there may be something to decide */
async function readNames() {
  try {
    /** @type {{items: import('./api.js').Conversation[]}} */
    const { items } = await ask('/hux/v1/conversations?limit=200');
    for (const { id, title } of items) names.set(id, title);
  } catch (error) {
    if (!(error instanceof Refused)) return true;
    note.dataset.failed = '';
    note.textContent = error.status === 401 ? 'You are signed out. Open the console to sign in.' : error.code === 'no_slot' ? NO_SLOT : error.message;
    return error.code !== 'no_slot';
  }
  return true;
}

function tellSize() {
  const height = decisions.root.hidden ? 0 : Math.ceil(part(document, 'main').getBoundingClientRect().height);
  bridge?.tell({ type: 'size', height });
}
