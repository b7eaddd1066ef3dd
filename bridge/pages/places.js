// Where cards and their choices are, looked at in every frame, so that a press
// can be held against what was painted before it. Nothing that observes tells
// of all that moves a card, and what does tell is late; so each look measures.

export const STILL = 600; // ms for which a card must have been painted just as it is when it is pressed
const GAP = 250; // ms without a frame after which it is not known what was painted

/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{shape: string, choices: Box[]}} Look  of a card at a moment */
/** @typedef {{choices: Box[], until: number}} Past  where choices were that are no longer there */
/** @typedef {{look: Look, since: number, past: Past[]}} Seen  since: Infinity until it was painted so */

export class Places {
  /** @param {() => void} looked  called after each frame */
  constructor(looked) {
    this.looked = looked;
    /** @type {Map<Element, Seen>} */
    this.cards = new Map();
    /** @type {{card: Element, past: Past}[]} cards that are gone */
    this.gone = [];
    this.last = -Infinity; // when the last frame came
    this.frame = 0;
  }

  /** @param {Element} card */
  add(card) {
    this.cards.set(card, { look: lookAt(card), since: Infinity, past: [] });
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.tick());
  }

  /** @param {Element} card */
  remove(card) {
    const seen = this.cards.get(card);
    if (!seen) return;
    this.cards.delete(card);
    const until = performance.now();
    for (const past of [...seen.past, { choices: seen.look.choices, until }]) this.gone.push({ card, past });
    this.gone = this.gone.filter(({ past }) => until - past.until < STILL);
  }

  /** Counts anew, whatever was painted. */
  restart() {
    for (const seen of this.cards.values()) seen.since = Infinity;
  }

  tick() {
    const now = performance.now();
    if (now - this.last > GAP) this.restart();
    this.last = now;
    for (const [card, seen] of this.cards) {
      if (!this.measure(card, seen, now) && seen.since === Infinity) seen.since = now; // the frame before showed it so
    }
    this.looked();
    this.frame = this.cards.size > 0 ? requestAnimationFrame(() => this.tick()) : 0;
  }

  /**
   * @param {Element} card
   * @param {Seen} seen
   * @param {number} now
   * @returns {boolean} whether it is no longer as it was
   */
  measure(card, seen, now) {
    const look = lookAt(card);
    if (look.shape === seen.look.shape) return false;
    seen.past = [...seen.past, { choices: seen.look.choices, until: now }].filter(({ until }) => now - until < STILL);
    seen.look = look;
    seen.since = Infinity;
    return true;
  }

  /**
   * The time since which each frame has shown a card just as it was at the last
   * look; Infinity where none has.
   *
   * @param {Element} card
   */
  since(card) {
    return this.cards.get(card)?.since ?? Infinity;
  }

  /**
   * The same, by a look now.
   *
   * @param {Element} card
   */
  sinceNow(card) {
    const now = performance.now();
    const seen = this.cards.get(card);
    if (seen && (now - this.last > GAP || document.hidden)) this.restart();
    if (seen) this.measure(card, seen, now);
    return this.since(card);
  }

  /**
   * The card of which a choice was at a point in the time that a press there
   * may have been aimed, and is no more.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} at  when it was pressed
   * @returns {Element | undefined}
   */
  missed(x, y, at) {
    const hit = (/** @type {Past} */ { choices, until }) => at - until < STILL
      && choices.some(({ left, top, right, bottom }) => x >= left && x < right && y >= top && y < bottom);
    for (const [card, seen] of this.cards) {
      this.measure(card, seen, performance.now());
      if (seen.past.some(hit)) return card;
    }
    return this.gone.find(({ past }) => hit(past))?.card;
  }
}

/**
 * All of a card that a person aims by: where it is, what of its call is shown,
 * and each choice with its words, all of it as the window shows them.
 *
 * @param {Element} card
 * @returns {Look}
 */
function lookAt(card) {
  const zoomed = window.visualViewport;
  /** @type {(string | number)[]} */
  const shape = [
    window.innerWidth, window.innerHeight, window.devicePixelRatio, window.screenX, window.screenY,
    ...(zoomed ? [zoomed.offsetLeft, zoomed.offsetTop, zoomed.scale] : []),
    ...sides(card.getBoundingClientRect()),
  ];
  /** @type {Box[]} */
  const choices = [];
  const range = document.createRange();
  for (const part of card.querySelectorAll('.call-box, [data-choice]')) {
    const box = part.getBoundingClientRect();
    shape.push(...sides(box), part.scrollTop);
    if (!(part instanceof HTMLElement && part.dataset.choice)) continue;
    choices.push(box);
    range.selectNodeContents(part.firstElementChild ?? part);
    shape.push(part.dataset.choice, range.toString(), ...sides(range.getBoundingClientRect()));
  }
  return { shape: shape.join(), choices };
}

/** @param {DOMRect} box */
function sides({ left, top, width, height }) {
  return [left, top, width, height];
}
