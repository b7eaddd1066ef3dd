// Keeps a decision from being made by a click or key that was meant for
// something else. A page that is framed beside the WebUI can be covered, made
// transparent, moved or shown just under the pointer by the page around it, so
// a card of it takes a decision only while the browser vouches that all of it
// is in sight (IntersectionObserver v2), and has been for a moment. Chromium
// itself drops clicks on a frame that asks for this and has just been moved. It
// does not see masks and rounded corners of the page around (SECURITY.md).

const ARMING = 600; // ms that nothing may have changed
const SAME_PRESS = 80; // ms between a press and the focus that it brings
const WHOLE = 0.98; // of a card; its edges may fall between pixels
const KEYS = new Set(['Tab', 'Shift', 'Enter', ' ', 'Escape', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);

/** @typedef {'unable' | 'unseen' | 'covered' | 'early'} Refusal  why a card takes no decision */

/** What is known of a card. @typedef {{known: boolean, whole: boolean, visible: boolean, since: number}} Sight */

export class Guard {
  /** @param {() => void} changed  called when the answers of refusal may have changed */
  constructor(changed) {
    this.framed = window.parent !== window;
    this.able = !this.framed || ('IntersectionObserverEntry' in window && 'isVisible' in IntersectionObserverEntry.prototype);
    this.changed = changed;
    this.moved = performance.now(); // when something last appeared or moved
    this.focused = -Infinity; // when the window last gained focus
    this.typed = -Infinity; // when a key was pressed that is for none of our controls
    this.pressed = -Infinity; // when a pointer was
    this.timer = 0;
    /** @type {Map<Element, Sight>} */
    this.cards = new Map();
    /** @type {IntersectionObserverInit & {trackVisibility: boolean, delay: number}} of version 2 */
    const options = { threshold: [0, 0.5, WHOLE, 1], trackVisibility: true, delay: 100 };
    this.observer = this.framed && this.able ? new IntersectionObserver((entries) => this.look(entries), options) : null;

    const restart = () => this.restart();
    document.addEventListener('visibilitychange', restart);
    window.addEventListener('pageshow', restart);
    window.addEventListener('resize', restart);
    window.addEventListener('scroll', restart, { capture: true, passive: true });
    window.addEventListener('focus', ({ timeStamp }) => { this.focused = timeStamp; });
    window.addEventListener('pointerdown', ({ timeStamp }) => { this.pressed = timeStamp; }, { capture: true });
    window.addEventListener('keydown', (event) => {
      if (event.repeat || !KEYS.has(event.key)) this.typed = event.timeStamp;
    }, { capture: true });
  }

  /** Something has appeared or moved: what is pressed now was meant for what was there before. */
  restart() {
    this.moved = performance.now();
    this.changed();
    clearTimeout(this.timer);
    this.timer = setTimeout(this.changed, ARMING);
  }

  /** @param {Element} card */
  add(card) {
    const open = !this.observer;
    this.cards.set(card, { known: open, whole: open, visible: open, since: performance.now() });
    this.observer?.observe(card);
    this.restart();
  }

  /** @param {Element} card */
  remove(card) {
    this.cards.delete(card);
    this.observer?.unobserve(card);
    this.restart();
  }

  /** @param {IntersectionObserverEntry[]} entries */
  look(entries) {
    for (const entry of entries) {
      const sight = this.cards.get(entry.target);
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
    clearTimeout(this.timer);
    this.timer = setTimeout(this.changed, ARMING);
  }

  /**
   * Why a card takes no decision now; null if it does.
   *
   * @param {Element} card
   * @param {UIEvent} [by]  the event that would decide
   * @returns {Refusal | null}
   */
  refusal(card, by) {
    if (!this.able) return 'unable';
    const news = this.observer?.takeRecords() ?? [];
    if (news.length > 0) this.look(news);
    const sight = this.cards.get(card);
    if (!sight?.known) return 'early';
    if (document.hidden || !sight.whole) return 'unseen';
    if (!sight.visible) return 'covered';
    const now = performance.now();
    if (now - Math.max(this.moved, sight.since) < ARMING) return 'early';
    if (by && now - (by.detail > 0 ? this.focusedBefore() : Math.max(this.focused, this.typed)) < ARMING) return 'early';
    return null;
  }

  /** When the window gained focus, unless by the press that asks. */
  focusedBefore() {
    return this.focused > this.pressed - SAME_PRESS ? -Infinity : this.focused;
  }
}
