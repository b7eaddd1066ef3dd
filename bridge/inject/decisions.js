// What waits for a decision, over the composer: a frame with a page of the
// console, as high as its card and without height while nothing waits. The page
// itself hears of what is asked and decides; here it only has its place.

import { element, Framed, guarded } from './frame.js';

const FRAME_TIMEOUT = 10_000; // ms for the frame to say that it is ready
const LOOK_EVERY = 1_000; // ms between two looks whether it is still in its place
const NEAR = 80; // px from the end of the chat's list that count as the end
const MOST = 0.7; // of the window's height

export class Decisions {
  /**
   * @param {string} origin  of the console
   * @param {(count: number) => void} waits  told how many requests wait
   */
  constructor(origin, waits) {
    this.origin = origin;
    this.waits = waits;
    /** @type {Framed | null} */
    this.frame = null;
    /** @type {string | null} */
    this.conversation = null;
    this.height = 0;
    this.elsewhere = false; // the panel shows the same, and lies over this
    this.root = element('div', { class: 'hux-decisions' });
  }

  /** Begins; the WebUI's own card, which decides nothing here, is not shown from now on. */
  start() {
    document.body.dataset.huxDecides = '';
    this.place();
    setInterval(guarded(() => this.place()), LOOK_EVERY);
    window.addEventListener('resize', guarded(() => {
      this.place();
      this.giveRoom();
      this.size(this.height);
    }));
  }

  /** Puts the frame above the composer, as wide as that, and again if the page took it away. */
  place() {
    const box = document.querySelector('#composerBox');
    if (!(box instanceof HTMLElement)) return; // this page has no composer (yet)
    this.root.style.maxWidth = `${box.offsetWidth}px`;
    if (this.root.isConnected) return;
    this.frame?.close();
    this.frame = new Framed(this.origin, '/hux/api/ui/decisions', { class: 'hux-cards', title: 'HUX: what the agent asks' }, (message) => this.take(message));
    this.frame.show(this.conversation);
    this.root.replaceChildren(this.frame.root);
    this.size(0);
    box.before(this.root);
    setTimeout(guarded(() => this.giveUp()), FRAME_TIMEOUT);
  }

  /** The frame did not answer: what it would show is on the console. */
  giveUp() {
    if (this.frame?.ready || this.root.querySelector('.hux-note')) return;
    const link = element('a', { href: `${this.origin}/hux/api/ui/decisions`, target: '_blank', rel: 'noopener' }, 'Open the console');
    this.root.append(element('p', { class: 'hux-note' }, 'What the agent asks can’t be shown here. ', link));
  }

  /** @param {string | null} id  of the conversation that the page has open */
  show(id) {
    this.conversation = id;
    this.frame?.show(id);
  }

  /** @param {import('./frame.js').Message} message  of the framed page */
  take({ type, height, count }) {
    switch (type) {
      case 'ready':
        this.root.querySelector('.hux-note')?.remove();
        this.giveRoom();
        break;
      case 'left':
        if (document.activeElement === this.frame?.root) /** @type {HTMLElement | null} */ (document.querySelector('#msg'))?.focus();
        break;
      case 'size':
        if (typeof height === 'number' && height >= 0) this.size(height);
        break;
      case 'pending':
        if (typeof count === 'number' && count >= 0) this.waits(Math.floor(count));
        break;
    }
  }

  giveRoom() {
    this.frame?.send({ type: 'room', height: Math.floor(window.innerHeight * MOST) });
  }

  /** @param {boolean} elsewhere  whether the panel shows what waits */
  leave(elsewhere) {
    this.elsewhere = elsewhere;
    this.size(this.height);
  }

  /** @param {number} height  in px, of what the page shows */
  size(height) {
    this.height = height;
    const frame = this.frame?.root;
    if (!frame) return;
    const list = document.querySelector('#messages');
    const atEnd = list !== null && list.scrollHeight - list.scrollTop - list.clientHeight < NEAR;
    const shown = this.elsewhere ? 0 : Math.min(height, Math.floor(window.innerHeight * MOST));
    frame.style.height = `${shown}px`;
    if (list && atEnd) list.scrollTop = list.scrollHeight; // what was read last stays in sight
    frame.toggleAttribute('inert', shown === 0);
    frame.setAttribute('aria-hidden', String(shown === 0));
    document.body.toggleAttribute('data-hux-waits', height > 0);
  }
}
