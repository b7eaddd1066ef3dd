// The bridge: one button in the WebUI's title bar, a panel that frames a page
// of the console, and the tie between the WebUI's sessions and conversations
// of HUX. It is a module, so nothing of it is global, and every entry from
// outside is guarded: it may fail, the WebUI's page may not.
//
// Between this page and the framed one go small objects {hux: 1, type: …},
// sent to the exact origin and taken only from it and from that very window:
//   frame → page  ready            the frame listens
//                 close            Escape was pressed in it
//                 pending          {count} of what waits for a decision and is shown
//                 left             the keyboard has decided the last of it
//                 size             {height} that the cards over the composer take
//   page → frame  theme            {dark, fontSize, vars} as the WebUI has them
//                 room             {height} that the cards over the composer may take
//                 conversation     {id} of the open one, null where there is none
// Nothing secret is ever among them.

import { conversationOf, isOn, rename } from './conversation.js';
import { Decisions } from './decisions.js';
import { element, Framed, guarded } from './frame.js';
import { startReporting } from './report.js';
import { watchSession } from './session.js';

const FRAME_TIMEOUT = 5_000; // ms for the frame to say that it is ready
const POLL_EVERY = 30_000; // ms between two looks at the connection
const POLL_SLOWEST = 120_000; // ms, when it keeps failing
const FETCH_TIMEOUT = 10_000; // ms

/** @typedef {'starting' | 'live' | 'reconnecting' | 'offline' | 'slot-down' | 'signed-out'} State */

/** @type {Record<State, string>} */
const STATE_TEXT = {
  starting: 'connecting',
  live: 'connected',
  reconnecting: 'reconnecting',
  offline: 'offline',
  'slot-down': 'your slot does not answer',
  'signed-out': 'signed out',
};

/** The button, which finds its place again whenever the page moves it out. */
class Button {
  /** @param {() => void} onPress */
  constructor(onPress) {
    this.dot = element('span', { class: 'hux-dot', 'aria-hidden': 'true' });
    this.text = element('span', { class: 'hux-sr' });
    this.count = element('span', { class: 'hux-count', 'aria-hidden': 'true', hidden: '' });
    this.pending = 0;
    /** @type {State} */
    this.state = 'starting';
    this.root = element(
      'button',
      {
        type: 'button',
        class: 'hux-button',
        title: 'HUX panel',
        'aria-expanded': 'false',
        'aria-controls': 'hux-panel',
      },
      this.dot,
      element('span', { class: 'hux-name' }, 'HUX'),
      this.count,
      this.text,
    );
    this.root.addEventListener('click', guarded(onPress));
    this.observer = new MutationObserver(guarded(() => this.place()));
    window.addEventListener('resize', guarded(() => this.place()));
    this.show('starting');
    this.place();
  }

  /** @param {State} state */
  show(state) {
    this.state = state;
    this.dot.dataset.state = state;
    this.tell();
  }

  /** @param {number} count  of what waits for a decision */
  wait(count) {
    this.pending = count;
    this.count.hidden = count === 0;
    this.count.textContent = String(count);
    this.tell();
  }

  tell() {
    const waits = this.pending === 0 ? '' : this.pending === 1 ? ', one request waits for you' : `, ${this.pending} requests wait for you`;
    const text = ` panel, ${STATE_TEXT[this.state]}${waits}`;
    if (this.text.textContent !== text) this.text.textContent = text;
  }

  /** Puts the button into the title bar, else into a corner of the window. */
  place() {
    const bar = document.querySelector('header.app-titlebar');
    const home = bar && bar.getClientRects().length > 0 ? bar : document.body;
    if (this.root.parentNode !== home) home.append(this.root);
    this.root.classList.toggle('hux-in-corner', home === document.body);
    // Beside a title that is centred the button floats, so as not to move it.
    const { position, justifyContent } = getComputedStyle(home);
    this.root.classList.toggle('hux-afloat', home === bar && position !== 'static' && justifyContent === 'center');
    // Only the few elements whose children matter: a transcript that grows
    // costs nothing.
    this.observer.disconnect();
    for (const parent of new Set([document.body, bar, bar?.parentElement])) {
      if (parent) this.observer.observe(parent, { childList: true });
    }
  }
}

/** The panel with the framed page, made anew at each opening. */
class Panel {
  /**
   * @param {string} origin  of the console
   * @param {Button} button
   * @param {(shows: boolean) => void} waits  told whether it shows what waits for a decision
   */
  constructor(origin, button, waits) {
    this.origin = origin;
    this.waits = waits;
    this.button = button;
    /** @type {Framed | null} */
    this.frame = null;
    this.timer = 0;
    /** @type {string | null} */
    this.conversation = null;

    this.closer = element('button', { type: 'button', class: 'hux-close', 'aria-label': 'Close' }, '×');
    this.closer.addEventListener('click', guarded(() => this.close()));
    this.body = element('div', { class: 'hux-body' });
    this.root = element(
      'aside',
      { id: 'hux-panel', class: 'hux-panel', role: 'dialog', 'aria-label': 'HUX panel', hidden: '' },
      element('div', { class: 'hux-bar' }, element('span', { class: 'hux-title' }, 'HUX'), this.closer),
      this.body,
    );
    this.root.addEventListener('keydown', guarded((event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation(); // it closes the panel and stops no answer
      this.close();
    }));
    // From elsewhere in the page, after the WebUI, which may want the key.
    window.addEventListener('keydown', guarded((event) => {
      if (event.key === 'Escape' && this.isOpen && !event.defaultPrevented && !event.isComposing) this.close();
    }));
  }

  get isOpen() {
    return !this.root.hidden;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  open() {
    if (!this.root.isConnected) document.body.append(this.root);
    const bar = this.button.root.closest('header');
    this.root.style.setProperty('--hux-top', `${Math.max(0, bar?.getBoundingClientRect().bottom ?? 0)}px`);
    this.frame = new Framed(this.origin, '/hux/api/ui/panel', { class: 'hux-frame', title: 'HUX: activity, and who you are' }, (message) => this.take(message));
    this.frame.show(this.conversation);
    this.body.replaceChildren(element('p', { class: 'hux-note', role: 'status' }, 'Loading…'), this.frame.root);
    this.timer = setTimeout(guarded(() => this.giveUp()), FRAME_TIMEOUT);
    this.root.hidden = false;
    this.button.root.setAttribute('aria-expanded', 'true');
    this.closer.focus();
  }

  close() {
    clearTimeout(this.timer);
    // Whoever is writing to the WebUI goes on there.
    const focused = document.activeElement;
    const returns = focused === null || focused === document.body || this.root.contains(focused);
    this.waits(false);
    this.frame?.close();
    this.frame = null;
    this.body.replaceChildren();
    this.root.hidden = true;
    this.button.root.setAttribute('aria-expanded', 'false');
    if (returns) this.button.root.focus();
  }

  /** The frame did not answer: a browser, policy or network keeps it away. */
  giveUp() {
    const link = element('a', { href: `${this.origin}/hux/api/ui/`, target: '_blank', rel: 'noopener' }, 'Open the console');
    const note = element('p', { class: 'hux-note', role: 'status' }, 'The panel can’t be shown in this page. ', link);
    this.body.querySelector('.hux-note')?.replaceWith(note);
  }

  /** @param {import('./frame.js').Message} message  of the framed page */
  take({ type, count }) {
    switch (type) {
      case 'ready':
        clearTimeout(this.timer);
        this.body.querySelector('.hux-note')?.remove();
        break;
      case 'pending':
        this.waits(typeof count === 'number' && count > 0);
        break;
      case 'close':
        this.close();
        break;
    }
  }

  /** @param {string | null} id  of the conversation that the page has open */
  show(id) {
    this.conversation = id;
    this.frame?.show(id);
  }
}

/**
 * Asks the router how things stand, now and then while the page is visible.
 *
 * @param {(state: State) => void} show
 * @returns {() => void} asks at once
 */
function watch(show) {
  let wait = POLL_EVERY;
  let timer = 0;
  let running = false;

  const look = async () => {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    const state = await connection();
    running = false;
    show(state);
    wait = state === 'reconnecting' ? Math.min(wait * 2, POLL_SLOWEST) : POLL_EVERY;
    timer = setTimeout(look, wait);
  };
  const now = () => {
    wait = POLL_EVERY;
    void look();
  };
  window.addEventListener('online', now);
  window.addEventListener('offline', guarded(() => show('offline')));
  document.addEventListener('visibilitychange', now);
  now();
  return now;
}

/** @returns {Promise<State>} */
async function connection() {
  if (!navigator.onLine) return 'offline';
  try {
    const answer = await fetch('/hux/api/me', {
      cache: 'no-store',
      headers: { Accept: 'application/json' },
      signal: AbortSignal.timeout(FETCH_TIMEOUT),
    });
    if (answer.status === 401) return 'signed-out';
    if (!answer.ok) return 'reconnecting';
    const me = await answer.json();
    return me?.tenant?.state === 'down' ? 'slot-down' : 'live';
  } catch {
    return navigator.onLine ? 'reconnecting' : 'offline';
  }
}

/** @param {(id: string | null) => void} show  told which conversation is open */
function followSession(show) {
  let open = '';
  watchSession(guarded(async (session) => {
    const changed = open !== (session?.id ?? '');
    open = session?.id ?? '';
    if (changed) show(null);
    if (!session) return;
    const conversation = await conversationOf(session);
    if (open === session.id) show(conversation?.id ?? null);
    await rename(session);
  }));
}

guarded(() => {
  const origin = document.querySelector('script[data-hux-console]')?.getAttribute('data-hux-console');
  if (!origin || !document.body || document.querySelector('.hux-button')) return;
  const button = new Button(() => {
    panel.toggle();
    look();
  });
  const panel = new Panel(origin, button, (shows) => decisions.leave(shows));
  const look = watch(guarded((state) => {
    button.show(state);
    button.place();
  }));
  const decisions = new Decisions(origin, (count) => button.wait(count));
  guarded(followSession)((/** @type {string | null} */ id) => {
    panel.show(id);
    decisions.show(id);
  });
  guarded(startReporting)();
  guarded(async () => { if (await isOn('hux.autonomy')) decisions.start(); })();
})();
