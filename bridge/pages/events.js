// The words for events. Kinds of a later version are shown like the others.

import { plain } from './dom.js';

/** @typedef {import('./stream.js').HuxEvent} HuxEvent */
/** @typedef {'run' | 'message' | 'tool' | 'decision' | 'other'} Category */

/** @type {Record<string, string>} */
const KIND_TEXT = {
  'run.started': 'Run started',
  'run.finished': 'Run finished',
  'run.cancel_requested': 'Asked to stop',
  'run.receipt': 'Receipt',
  'message.committed': 'Message',
  'message.corrected': 'Message corrected',
  'tool.started': 'Tool started',
  'tool.finished': 'Tool finished',
  'attachment.added': 'File attached',
  'approval.requested': 'Asks for a decision',
  'approval.resolved': 'Decision',
  'grant.created': 'Granted',
  'grant.revoked': 'Grant taken back',
  'policy.changed': 'Level or budgets changed',
  'policy.bypassed': 'Ran without being allowed',
};

/** @type {Record<string, string>} */
const STATUS_TEXT = {
  started: 'Running',
  progress: 'Under way',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/**
 * @param {string} kind
 * @returns {Category}
 */
export function categoryOf(kind) {
  const first = kind.split('.', 1)[0];
  if (first === 'approval' || first === 'grant' || first === 'policy') return 'decision';
  return first === 'run' || first === 'message' || first === 'tool' ? first : 'other';
}

/** @param {string} kind */
export function kindText(kind) {
  const words = KIND_TEXT[kind] ?? kind.replace(/[._]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** @param {string} status */
export function statusText(status) {
  return STATUS_TEXT[status] ?? kindText(status);
}

/**
 * What an event says in one line.
 *
 * @param {HuxEvent} event
 */
export function lineOf(event) {
  return event.tombstone ? 'Forgotten' : plain(event.summary) || kindText(event.kind);
}

/** @param {HuxEvent} event */
export function isFailure(event) {
  return event.status === 'failed';
}

/**
 * Whether it tells that a call ran that nobody had allowed.
 *
 * @param {HuxEvent} event
 */
export function isAlarm(event) {
  return event.kind === 'policy.bypassed' && !event.tombstone;
}

/**
 * Who says that it happened.
 *
 * @param {HuxEvent} event
 */
export function reporterText(event) {
  if (event.reported_by === 'page') return 'Seen by your page, no evidence';
  const kind = event.provenance?.actor?.kind ?? '';
  return kind === 'human' ? 'You' : kindText(kind);
}

/** @param {number} ms */
export function durationText(ms) {
  const seconds = Math.max(0, ms) / 1_000;
  const minutes = Math.floor(seconds / 60);
  const text =
    seconds < 10 ? `${seconds.toFixed(1)} s`
    : seconds < 60 ? `${Math.floor(seconds)} s`
    : minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return text.replaceAll(' ', '\u00a0');
}

/**
 * The small facts that came with an event, as text; how long it took is in its
 * line.
 *
 * @param {HuxEvent} event
 * @returns {[name: string, value: string][]}
 */
export function factsOf(event) {
  /** @type {[string, string][]} */
  const facts = [];
  for (const [name, value] of Object.entries(event.data ?? {})) {
    if (!['string', 'number', 'boolean'].includes(typeof value) || name === 'duration_ms' || facts.length >= 12) continue;
    const text = String(value);
    facts.push([kindText(name), text.length > 200 ? `${text.slice(0, 199)}…` : text]);
  }
  return facts;
}
