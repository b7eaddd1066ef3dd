// Keeps a decision from being made by a press that was meant for something
// else. What is pressed must have been there, just so, for a moment before
// (Places). And a page that is framed beside the WebUI can be covered, made
// transparent or moved by the page around it, so a card of it allows something
// only while the browser vouches that the parts of it that a decision needs are
// in sight (IntersectionObserver v2), and have been for a moment. Chromium
// itself drops clicks on a frame that asks for this and has just been moved. It
// does not see masks and rounded corners of the page around (SECURITY.md).

import { Places, STILL } from './places.js';

const SAME_PRESS = 80; // ms between a press and the focus that it brings
const WHOLE = 0.98; // of a part; its edges may fall between pixels
const KEYS = new Set(['Tab', 'Shift', 'Enter', ' ', 'Escape', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);

/** @typedef {'unable' | 'unseen' | 'covered' | 'early'} Refusal  why a card takes no decision */

/**
 * @typedef {object} Press
 * @property {string} choice
 * @property {number} at        when, as events have it
 * @property {boolean} pointed  by a pointer, and not by a key
 */

/** What is known of a part of a card. @typedef {{known: boolean, whole: boolean, visible: boolean, since: number}} Sight */

export class Guard {
  /** @param {() => void} changed  called when the answers of refusal may have changed */
  constructor(changed) {
    this.framed = window.parent !== window;
    this.able = !this.framed || ('IntersectionObserverEntry' in window && 'isVisible' in IntersectionObserverEntry.prototype);
    this.changed = changed;
    this.places = new Places(changed);
    this.focused = -Infinity; // when the window last gained focus
    this.typed = -Infinity; // when a key was pressed that is for none of our controls
    this.pressed = -Infinity; // when a pointer was
    /** @type {Map<Element, Element[]>} each with its parts that must be in sight */
    this.cards = new Map();
    /** @type {Map<Element, Sight>} of the parts */
    this.sights = new Map();
    /** @type {IntersectionObserverInit & {trackVisibility: boolean, delay: number}} of version 2 */
    const options = { threshold: [0, 0.5, WHOLE, 1], trackVisibility: true, delay: 100 };
    this.observer = this.framed && this.able ? new IntersectionObserver((entries) => this.look(entries), options) : null;

    document.addEventListener('visibilitychange', () => this.restart());
    window.addEventListener('pageshow', () => this.restart());
    window.addEventListener('focus', ({ timeStamp }) => { this.focused = timeStamp; });
    window.addEventListener('pointerdown', ({ timeStamp }) => { this.pressed = timeStamp; }, { capture: true });
    window.addEventListener('keydown', (event) => {
      if (event.repeat || !KEYS.has(event.key)) this.typed = event.timeStamp;
    }, { capture: true });
  }

  /** What is pressed now was meant for what was there before. */
  restart() {
    this.places.restart();
    this.changed();
  }

  /**
   * @param {Element} card
   * @param {Element[]} parts  of it that must be in sight
   */
  add(card, parts) {
    const open = !this.observer;
    this.cards.set(card, parts);
    for (const part of parts) {
      this.sights.set(part, { known: open, whole: open, visible: open, since: -Infinity });
      this.observer?.observe(part);
    }
    this.places.add(card);
  }

  /** @param {Element} card */
  remove(card) {
    for (const part of this.cards.get(card) ?? []) {
      this.sights.delete(part);
      this.observer?.unobserve(part);
    }
    this.cards.delete(card);
    this.places.remove(card);
  }

  /** @param {IntersectionObserverEntry[]} entries */
  look(entries) {
    for (const entry of entries) {
      const sight = this.sights.get(entry.target);
      if (!sight) continue;
      // @ts-ignore: of version 2 of the interface
      const visible = /** @type {boolean} */ (entry.isVisible);
      const whole = entry.intersectionRatio >= WHOLE;
      if (!(visible && whole && sight.visible && sight.whole)) sight.since = performance.now(); // it was not all in sight, or is no more
      sight.known = true;
      sight.whole = whole;
      sight.visible = visible;
    }
    this.changed();
  }

  /**
   * Why a card takes no decision now; null if it does.
   *
   * @param {Element} card
   * @param {Press} [press]  that would decide; without it, as of the last frame
   * @returns {Refusal | null}
   */
  refusal(card, press) {
    if (!this.able) return 'unable';
    const at = press?.at ?? performance.now();
    // A "no" does no harm, whatever lies over the card.
    const hidden = press?.choice === 'deny' ? null : this.hidden(card, at);
    if (hidden) return hidden;
    const still = press ? this.places.sinceNow(card) : this.places.since(card);
    if (at - still < STILL) return 'early';
    if (press && at - (press.pointed ? this.focusedBefore() : Math.max(this.focused, this.typed)) < STILL) return 'early';
    return null;
  }

  /**
   * @param {Element} card
   * @param {number} at
   * @returns {Refusal | null}
   */
  hidden(card, at) {
    const news = this.observer?.takeRecords() ?? [];
    if (news.length > 0) this.look(news);
    const sights = (this.cards.get(card) ?? []).flatMap((part) => this.sights.get(part) ?? []);
    if (sights.length === 0 || sights.some((sight) => !sight.known)) return 'early';
    if (document.hidden || sights.some((sight) => !sight.whole)) return 'unseen';
    if (sights.some((sight) => !sight.visible)) return 'covered';
    return sights.some((sight) => at - sight.since < STILL) ? 'early' : null;
  }

  /** When the window gained focus, unless by the press that asks. */
  focusedBefore() {
    return this.focused > this.pressed - SAME_PRESS ? -Infinity : this.focused;
  }
}
