// A line in a card's place: how it ended, what came of what was chosen here, and
// the way to take back what lasts.

import { ask, Refused } from './api.js';
import { matchText } from './autonomy-words.js';
import { element, plain } from './dom.js';

const SHOWN_FOR = 5_000; // ms
const SHOWN_LONG = 20_000; // ms, where it can be taken back or is not what was chosen
const TOO_SOON = 600; // ms in which a press was meant for the card that was there

/** @typedef {import('../hux.d.ts').Approval} Approval */
/** @typedef {import('./approvals.js').Outcome} Outcome */

/** @type {Record<string, string>} */
const ALLOWED = { once: 'once', session: 'in this session', always: 'always' };

/** @type {Record<string, string>} */
export const CHOICE_TEXT = { once: 'Allow once', session: 'Allow in this session', always: 'Allow always', deny: 'Deny' };

export class OutcomeLine {
  /**
   * @param {Approval} approval
   * @param {Outcome} outcome
   * @param {object} options
   * @param {string} [options.chosen]  here
   * @param {(text: string) => void} options.say  to a screen reader
   */
  constructor(approval, outcome, { chosen, say }) {
    this.say = say;
    this.grant = outcome.grant;
    this.shownAt = performance.now();
    this.told = outcomeText(approval, outcome, chosen);
    this.text = document.createTextNode(this.told);
    this.root = element('p', { class: 'decided', tabindex: '-1', 'data-ended': approval.id, 'data-status': outcome.status }, this.text);
    const late = chosen !== undefined && outcome.choice !== chosen;
    const lasts = chosen !== undefined && this.grant !== undefined && !late;
    this.until = this.shownAt + (late || lasts ? SHOWN_LONG : SHOWN_FOR);
    if (late) this.root.dataset.late = '';
    if (lasts) {
      this.button = element('button', { type: 'button', class: 'quiet', 'aria-label': `Take back: ${approval.request.tool}` }, 'Take back');
      this.button.addEventListener('click', (event) => { if (event.isTrusted) void this.takeBack(event.timeStamp); });
      this.root.append(' ', this.button);
    }
  }

  /** Whether it has been shown long enough; not while somebody is at its button. */
  get isOver() {
    return performance.now() > this.until && !this.button?.matches(':hover, :focus');
  }

  /** A press was aimed at the card that was here. */
  pressedLate() {
    this.until = performance.now() + SHOWN_LONG;
    this.tell(`${this.told}. Your press came after that, and changed nothing.`);
  }

  /** @param {string} text */
  tell(text) {
    this.text.textContent = text;
    this.say(text);
  }

  /** @param {number} at  when it was asked for */
  async takeBack(at) {
    if (at - this.shownAt < TOO_SOON) {
      this.tell(`${this.told}. It was not taken back: that press came as this appeared. Press again to take it back.`);
      return;
    }
    this.until = performance.now() + SHOWN_LONG;
    if (this.button) this.button.disabled = true;
    try {
      await ask(`/hux/v1/grants/${this.grant}/revoke`, { method: 'POST', body: {} });
    } catch (error) {
      if (!(error instanceof Refused && error.status === 409)) { // 409: it is in force no more
        if (this.button) this.button.disabled = false;
        this.tell(`${this.told}. It is not known to be taken back: ${error instanceof Refused ? error.message : 'the router did not answer.'} Try again.`);
        return;
      }
    }
    this.button?.remove();
    this.root.dataset.status = 'revoked';
    this.root.focus();
    this.tell(`Taken back. It is asked about again; the call that asked may have run.`);
  }
}

/**
 * How one ended, in a line.
 *
 * @param {Approval} approval
 * @param {Outcome} outcome
 * @param {string} [chosen]  here
 */
export function outcomeText({ request }, { status, choice, cause }, chosen) {
  const tool = plain(request.tool);
  if (chosen !== undefined && choice === chosen) {
    if (chosen === 'deny') return `You denied this: ${tool}`;
    return `You allowed this ${chosen === 'session' ? 'for this session' : ALLOWED[chosen] ?? ''}: ${tool}${chosen === 'once' ? '' : ` ${plain(matchText(request.grant_match))}`}`;
  }
  const how =
    status === 'approved' ? `Allowed ${ALLOWED[choice ?? ''] ?? ''}`.trim()
    : status === 'denied' ? 'Denied'
    : status === 'expired' ? 'Expired: nobody decided in time'
    : status === 'cancelled' ? `No longer asked: ${cause === 'call_ended' ? 'the agent had ended the call' : 'the call or its run was stopped or is over'}`
    : 'Decided';
  if (chosen === undefined) return `${how}: ${tool}`;
  const nothing = status === 'approved' ? '' : ' and nothing was allowed';
  return `Your “${CHOICE_TEXT[chosen] ?? chosen}” came too late${nothing && `,${nothing}`}. ${how}: ${tool}`;
}
