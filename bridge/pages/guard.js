// Keeps a decision from being made by a click or key that was meant for
// something else. A page that is framed beside the WebUI can be covered, made
// transparent, moved or shown just under the pointer by the page around it, so
// a card of it allows something only while the browser vouches that the parts
// of it that a decision needs are in sight (IntersectionObserver v2), and have
// been for a moment. Chromium
// itself drops clicks on a frame that asks for this and has just been moved. It
// does not see masks and rounded corners of the page around (SECURITY.md).

const ARMING = 600; // ms that nothing may have changed
const SAME_PRESS = 80; // ms between a press and the focus that it brings
const WHOLE = 0.98; // of a part; its edges may fall between pixels
const KEYS = new Set(['Tab', 'Shift', 'Enter', ' ', 'Escape', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);

/** @typedef {'unable' | 'unseen' | 'covered' | 'early'} Refusal  why a card takes no decision */

/** What is known of a part of a card. @typedef {{known: boolean, whole: boolean, visible: boolean, since: number}} Sight */

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
    /** @type {Map<Element, Element[]>} each with its parts that must be in sight */
    this.cards = new Map();
    /** @type {Map<Element, Sight>} of the parts */
    this.sights = new Map();
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

  /**
   * @param {Element} card
   * @param {Element[]} parts  of it that must be in sight
   */
  add(card, parts) {
    const open = !this.observer;
    this.cards.set(card, parts);
    for (const part of parts) {
      this.sights.set(part, { known: open, whole: open, visible: open, since: performance.now() });
      this.observer?.observe(part);
    }
    this.restart();
  }

  /** @param {Element} card */
  remove(card) {
    for (const part of this.cards.get(card) ?? []) {
      this.sights.delete(part);
      this.observer?.unobserve(part);
    }
    this.cards.delete(card);
    this.restart();
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
    const sights = (this.cards.get(card) ?? []).flatMap((part) => this.sights.get(part) ?? []);
    if (sights.length === 0 || sights.some((sight) => !sight.known)) return 'early';
    if (document.hidden || sights.some((sight) => !sight.whole)) return 'unseen';
    if (sights.some((sight) => !sight.visible)) return 'covered';
    const now = performance.now();
    if (now - Math.max(this.moved, ...sights.map((sight) => sight.since)) < ARMING) return 'early';
    if (by && now - (by.detail > 0 ? this.focusedBefore() : Math.max(this.focused, this.typed)) < ARMING) return 'early';
    return null;
  }

  /** When the window gained focus, unless by the press that asks. */
  focusedBefore() {
    return this.focused > this.pressed - SAME_PRESS ? -Infinity : this.focused;
  }
}
