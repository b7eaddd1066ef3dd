// What a person presses on the cards of a page: a choice counts only if it was
// pressed and let go as one thing that stayed in its place. Whatever else a
// press that was aimed at a choice comes to is told, so that none is lost in
// silence.

const LET_GO = 500; // ms after a pointer was let go within which its click comes

/** @typedef {import('./guard.js').Guard} Guard */
/** @typedef {import('./guard.js').Press} Press */
/** @typedef {import('./guard.js').Refusal} Refusal */
/** @typedef {Refusal | 'slipped'} Miss  why a press counted for nothing; slipped: it was let go elsewhere */

/**
 * @typedef {object} PressListener
 * @property {(card: Element, press: Press) => void} chosen
 * @property {(card: Element, miss: Miss) => void} missed  the card may be gone
 */

/** @typedef {{button: Element, card: Element, pointer: number, press: Press, refusal: Refusal | null}} Held */

export class Presses {
  /**
   * @param {Guard} guard
   * @param {PressListener} listener
   */
  constructor(guard, listener) {
    this.guard = guard;
    this.listener = listener;
    /** @type {Held | null} what a pointer has pressed, until its click */
    this.held = null;
    this.timer = 0;
    window.addEventListener('pointerdown', (event) => this.down(event), { capture: true });
    window.addEventListener('pointerup', (event) => this.up(event), { capture: true });
    window.addEventListener('pointercancel', (event) => { if (event.pointerId === this.held?.pointer) this.held = null; }, { capture: true }); // it became a scroll
    window.addEventListener('click', (event) => this.click(event), { capture: true });
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (!event.isTrusted || !event.isPrimary || event.button !== 0) return;
    this.slip(); // of a press before that has had no click
    const found = choiceOf(event.target);
    if (found) {
      const press = { choice: found.choice, at: event.timeStamp, pointed: true };
      this.held = { ...found, pointer: event.pointerId, press, refusal: this.guard.refusal(found.card, press) };
      return;
    }
    const card = this.guard.places.missed(event.clientX, event.clientY, event.timeStamp);
    if (card) this.listener.missed(card, 'early');
  }

  /** @param {PointerEvent} event */
  up({ pointerId }) {
    if (pointerId === this.held?.pointer) this.timer = setTimeout(() => this.slip(), LET_GO);
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (!event.isTrusted) return; // no person's
    const found = choiceOf(event.target);
    const held = event.detail > 0 ? this.held : null;
    if (held && found?.button !== held.button) {
      this.slip();
      return;
    }
    if (!found) return;
    if (held) this.release();
    const press = held?.press ?? { choice: found.choice, at: event.timeStamp, pointed: false };
    const refusal = held?.refusal ?? this.guard.refusal(found.card, press);
    if (refusal) this.listener.missed(found.card, refusal);
    else this.listener.chosen(found.card, press);
  }

  release() {
    clearTimeout(this.timer);
    this.held = null;
  }

  /** What is held comes to nothing. */
  slip() {
    const { held } = this;
    this.release();
    if (held) this.listener.missed(held.card, held.refusal ?? 'slipped');
  }
}

/** @param {EventTarget | null} target */
function choiceOf(target) {
  const button = target instanceof Element ? target.closest('[data-choice]') : null;
  const card = button?.closest('[data-approval]');
  return button instanceof HTMLElement && card ? { button, card, choice: button.dataset.choice ?? '' } : null;
}
