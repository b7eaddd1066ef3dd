// The elements of a timeline: an event, and a run with its events.

import { ask, Refused } from './api.js';
import { outcomeText } from './autonomy-words.js';
import { callsOf } from './calls.js';
import { element, plain, timeElement } from './dom.js';
import { categoryOf, durationText, factsOf, isAlarm, isFailure, kindText, lineOf, reporterText, statusText } from './events.js';
import { receiptLine } from './receipt.js';

/** @typedef {import('./stream.js').HuxEvent} HuxEvent */

/** One event: a line that opens to what is known of it. */
export class EventRow {
  /** @param {HuxEvent} event */
  constructor(event) {
    this.event = event;
    this.category = categoryOf(event.kind);
    this.failed = isFailure(event);
    this.refused = false; // it tells of a call that did not run
    this.filtered = false; // the reader does not want it
    /** @type {HuxEvent[]} of the same call, which its line stands for */
    this.others = [];
    this.covered = false; // another line stands for it
    this.summary = element('span', { class: 'summary' }, lineOf(event));
    this.under = element('span', { class: 'under' }, event.tombstone ? kindText(event.kind) : under(event));
    this.head = element(
      'button',
      { type: 'button', class: 'line', 'aria-expanded': 'false', 'data-item': '', tabindex: '-1' },
      element('span', { class: 'dot', 'aria-hidden': 'true' }),
      element('span', { class: 'what' }, this.summary, this.under),
      timeElement(event.created_at),
    );
    this.root = element(
      'li',
      { class: 'event', 'data-seq': String(event.seq), 'data-kind': event.kind, 'data-status': event.status ?? '' },
      this.head,
    );
    if (event.tombstone) this.root.dataset.tombstone = '';
    if (isAlarm(event)) this.root.classList.add('alarm');
    this.head.addEventListener('click', () => this.open(this.head.getAttribute('aria-expanded') !== 'true'));
  }

  /** @param {boolean} open */
  open(open) {
    this.head.setAttribute('aria-expanded', String(open));
    const shown = this.root.querySelector('.details');
    if (!open) shown?.remove();
    else if (!shown) this.root.append(details(this.event, this.others));
  }

  /** @param {boolean} filtered */
  filter(filtered) {
    this.filtered = filtered;
    this.show();
  }

  /**
   * Makes it the line of a call, or one that another line stands for.
   *
   * @param {boolean} covered
   * @param {HuxEvent[]} others  of the same call
   */
  cover(covered, others) {
    this.covered = covered;
    this.others = others;
    this.show();
  }

  show() {
    this.root.hidden = this.filtered || this.covered || (this.refused && this.event.kind === 'tool.started');
  }

  /**
   * Says that the call that a page saw begin or fail did not run. Its end says
   * so; its start is not shown.
   */
  refuse() {
    this.refused = true;
    this.failed = this.covered = false;
    this.show();
    this.root.dataset.status = 'cancelled';
    this.summary.textContent = `${plain(String(this.event.data?.tool ?? 'The tool'))} did not run`;
    this.under.textContent = kindText(this.event.kind);
  }

  /** @param {HuxEvent} outcome  of what is asked here */
  decided(outcome) {
    if (this.event.tombstone) return;
    this.root.dataset.status = outcome.status ?? '';
    this.under.textContent = `${kindText(this.event.kind)} · ${String(outcome.data?.status ?? 'decided')}`;
  }

  /** @param {number} ms  since the tool started */
  took(ms) {
    if (!this.event.tombstone) this.under.textContent = `${under(this.event)} · ${durationText(ms)}`;
  }
}

/** @param {HuxEvent} event */
function under(event) {
  const parts = [kindText(event.kind)];
  // How a decision came out is in its line.
  if (event.status && event.kind !== 'approval.resolved' && !event.kind.endsWith(`.${event.status}`)) parts.push(statusText(event.status).toLowerCase());
  const count = event.evidence.length;
  if (count > 0) parts.push(count === 1 ? '1 reference' : `${count} references`);
  return parts.join(' · ');
}

/**
 * @param {HuxEvent} event
 * @param {HuxEvent[]} others  of the same call
 */
function details(event, others) {
  /** @type {[string, Node | string][]} */
  const facts = [['Event', `${event.seq}, ${event.kind}`], ['Reported by', reporterText(event)]];
  if (event.tombstone) {
    facts.push(['Forgotten', new Date(event.tombstone.at).toLocaleString()], ['Reason', kindText(event.tombstone.reason)]);
  }
  if (event.run_id) facts.push(['Run', element('code', {}, event.run_id)]);
  if (others.length > 0) facts.push(['Same call', others.map(({ seq, kind, reported_by: by }) => `event ${seq}, ${kind}${by === 'page' ? ' as your page saw it' : ''}`).join('; ')]);
  if (event.causes?.length) facts.push(['Because of', event.causes.map((seq) => `event ${seq}`).join(', ')]);
  facts.push(...factsOf(event));
  if (event.redaction?.rules?.length) facts.push(['Masked', event.redaction.rules.map(kindText).join(', ')]);
  const list = element('dl', { class: 'facts' });
  for (const [name, value] of facts) list.append(element('div', {}, element('dt', {}, name), element('dd', {}, typeof value === 'string' ? plain(value) : value)));
  const made = element('div', { class: 'details' }, list);
  if (event.evidence.length > 0) {
    made.append(element('p', { class: 'muted' }, 'Evidence'), element('ul', { class: 'evidence' }, ...event.evidence.map((ref) => element(
      'li',
      {},
      `${kindText(ref.kind)}, kept by ${ref.owner}`,
      element('code', {}, ref.version === undefined ? ref.id : `${ref.id} · ${ref.version}`),
      ...(ref.hash ? [element('code', {}, ref.hash)] : []),
    ))));
  }
  return made;
}

/** The events of one run, or those between runs that belong to none. */
export class RunGroup {
  /**
   * @param {string | null} run
   * @param {string} [conversation]  given where its runs can be stopped
   */
  constructor(run, conversation) {
    this.run = run;
    this.conversation = conversation;
    /** @type {EventRow[]} */
    this.rows = [];
    /** @type {HuxEvent | undefined} */
    this.started = undefined;
    /** @type {HuxEvent | undefined} */
    this.finished = undefined;
    this.superseded = false; // a later run has started
    this.stopping = false; // somebody has asked for its stop
    /** @type {HuxEvent | undefined} */
    this.receipt = undefined; // and this is what came of it
    this.list = element('ol', { class: 'events' });
    this.root = element('li', { class: run === null ? 'loose' : 'run' }, this.list);
    this.pill = element('span', { class: 'pill' });
    this.facts = element('span', { class: 'muted' });
    this.head = element(
      'button',
      { type: 'button', class: 'run-head', 'aria-expanded': 'true', 'data-item': '', tabindex: '-1' },
      element('span', { class: 'mark', 'aria-hidden': 'true' }),
      element('span', { class: 'run-name' }, 'Run'),
      this.pill,
      this.facts,
    );
    this.stopper = element('button', { type: 'button', class: 'stop danger', hidden: '' }, 'Stop');
    this.failed = element('p', { class: 'notice error', role: 'alert', hidden: '' });
    if (run !== null) this.root.prepend(element('div', { class: 'run-bar' }, this.head, this.stopper), this.failed);
    this.head.addEventListener('click', () => this.open(!this.isOpen));
    this.stopper.addEventListener('click', () => this.stop());
  }

  /** Asks for the run's stop. It is stopped once there is a receipt. */
  async stop() {
    this.stopping = true;
    this.failed.hidden = true;
    this.draw();
    this.head.focus();
    try {
      await ask(`/hux/v1/conversations/${this.conversation}/runs/${this.run}/cancel`, { method: 'POST', body: {} });
    } catch (error) {
      this.stopping = this.rows.some(({ event }) => event.kind === 'run.cancel_requested');
      this.failed.textContent = error instanceof Refused ? error.message : 'The router did not answer, so it is not known whether it was asked to stop. Try again.';
      this.failed.hidden = this.stopping;
      this.draw();
    }
  }

  get isOpen() {
    return !this.root.classList.contains('closed');
  }

  /** @param {boolean} open */
  open(open) {
    this.root.classList.toggle('closed', !open);
    this.head.setAttribute('aria-expanded', String(open));
  }

  get isRunning() {
    return this.started !== undefined && !this.finished && !this.superseded && !this.receipt;
  }

  /** @param {EventRow} row */
  add(row) {
    const { event } = row;
    this.rows.push(row);
    this.list.append(row.root);
    // A run that two have reported is one.
    if (event.kind === 'run.started') this.started ??= event;
    if (event.kind === 'run.finished') this.finished ??= event;
    if (event.kind === 'run.cancel_requested') this.stopping = true;
    if (event.kind === 'run.receipt') this.settle(event);
    if (event.kind === 'approval.resolved') {
      const asked = this.rows.find(({ event: e }) => e.kind === 'approval.requested' && e.data?.approval_id === event.data?.approval_id);
      asked?.decided(event);
      for (const other of this.rows) if (this.isRefused(other.event)) other.refuse();
    }
    if (this.isRefused(event)) row.refuse();
    if (row.category === 'tool' || event.kind === 'approval.resolved') this.drawCalls();
    if (isAlarm(event)) this.root.classList.add('alarmed');
    this.draw();
  }

  /** Gives each call of a tool one line. */
  drawCalls() {
    const tools = new Map(this.rows.filter((row) => row.category === 'tool' && !row.refused).map((row) => [row.event, row]));
    for (const row of tools.values()) row.cover(false, []);
    for (const { line, others, took } of callsOf([...tools.keys()])) {
      tools.get(line)?.cover(false, others);
      if (took !== undefined) tools.get(line)?.took(took);
      for (const other of others) tools.get(other)?.cover(true, []);
      if (others.some((other) => tools.get(other)?.head === document.activeElement)) tools.get(line)?.head.focus({ preventScroll: true });
    }
  }

  /**
   * Whether a page told of a call that the decision kept from running. A page
   * may know a call by another id than the router; then it is one of a tool
   * that was never allowed in this run.
   *
   * @param {HuxEvent} told
   */
  isRefused({ kind, reported_by: reporter, status, tombstone, data }) {
    if (reporter !== 'page' || tombstone || (kind !== 'tool.started' && kind !== 'tool.finished') || status === 'completed') return false;
    const of = this.rows.map(({ event }) => event).filter((e) => e.kind === 'approval.resolved' && e.data?.tool === data?.tool);
    const same = of.find((e) => e.data?.tool_call_id === data?.tool_call_id);
    if (same) return same.status !== 'completed';
    return of.length > 0 && of.every((e) => e.status !== 'completed');
  }

  /** @param {HuxEvent} event  that tells of the receipt */
  settle(event) {
    if (this.receipt) return;
    this.receipt = event;
    this.failed.hidden = true;
    const { receipt_id: id, outcome, side_effects: effects } = event.data ?? {};
    if (typeof id !== 'string' || typeof outcome !== 'string') return;
    this.list.before(receiptLine({ id, outcome, effects: Number(effects) || 0 }));
  }

  /** @returns {EventRow | undefined} the oldest, taken out */
  dropFirst() {
    const row = this.rows.shift();
    row?.root.remove();
    this.draw();
    return row;
  }

  /** Writes what may have changed, also with time alone. */
  draw() {
    if (this.run === null) return;
    const first = this.started ?? this.rows[0]?.event;
    if (!first) return;
    const outcome = this.receipt?.data?.outcome;
    const state =
      typeof outcome === 'string' ? outcome
      : this.stopping ? 'stopping'
      : this.finished ? (this.finished.status ?? 'ended')
      : this.isRunning ? 'started' : this.started ? 'open' : 'part';
    this.stopper.hidden = !this.conversation || !this.isRunning || this.stopping || this.receipt !== undefined;
    const text =
      typeof outcome === 'string' ? outcomeText(outcome)
      : state === 'stopping' ? 'Stopping…' // whatever else says that it has ended
      : state === 'ended' ? 'Ended'
      : state === 'open' ? 'End not reported'
      : state === 'part' ? '' // its start is not among what is shown
      : statusText(state);
    this.pill.hidden = text === '';
    if (this.pill.textContent !== text) this.pill.textContent = text;
    this.pill.dataset.state = state;
    const count = this.rows.length;
    const parts = [new Date(first.created_at).toLocaleTimeString(undefined, { timeStyle: 'short' })];
    const last = this.finished ?? this.receipt;
    const end = last ? Date.parse(last.created_at) : this.isRunning ? Date.now() : NaN;
    if (this.started && !Number.isNaN(end)) parts.push(durationText(end - Date.parse(this.started.created_at)));
    parts.push(count === 1 ? '1 event' : `${count} events`);
    const facts = parts.join(' · ');
    if (this.facts.textContent !== facts) this.facts.textContent = facts;
  }
}
