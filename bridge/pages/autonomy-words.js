// The words for what an agent may do. What a later router adds is shown by its
// own name.

import { kindText } from './events.js';

/** @typedef {import('../hux.d.ts').Grant} Grant */
/** @typedef {import('../hux.d.ts').defs.Capability} Capability */

/** The levels, as people choose among them. @type {Record<string, {name: string, line: string}>} */
export const LEVELS = {
  safe: {
    name: 'Safe',
    line: 'Reads freely, asks before it changes anything, and has no network at all.',
  },
  ask_first: {
    name: 'Ask First',
    line: 'Reads freely, and asks before it changes anything, runs anything or uses the network.',
  },
  autonomous: {
    name: 'Autonomous',
    line: 'Does all of that without asking, within your budgets and what you have forbidden. A deployment is asked about each time.',
  },
};

/** @type {Record<string, {name: string, does: string}>} in the contract's order */
export const CAPABILITIES = {
  read: { name: 'Read', does: 'read' },
  write: { name: 'Write', does: 'change files' },
  execute: { name: 'Run programs', does: 'run programs' },
  message: { name: 'Send messages', does: 'send messages' },
  memory_write: { name: 'Change its memory', does: 'change its memory' },
  network: { name: 'Use the network', does: 'use the network' },
  deploy: { name: 'Deploy', does: 'deploy' },
};

/** @type {Record<string, string>} */
export const EFFECTS = { allow: 'Allowed', ask: 'Asks', deny: 'Denied' };

/** @type {Record<string, string>} */
const REASONS = {
  grant_deny: 'You have forbidden it.',
  mode_private: 'This conversation is private.',
  deploy_always_asks: 'A deployment is asked about each time, whatever the level.',
  grant_allow: 'You have allowed it.',
  budget_exhausted: 'A budget is used up.',
};

/** @type {Record<string, string>} */
export const OUTCOMES = {
  stopped: 'Stopped',
  completed_before_stop: 'Finished before it was stopped',
  partially_stopped: 'Stopped in part',
  failed_to_stop: 'Could not be stopped',
  unknown: 'Not known whether it stopped',
};

/** @type {Record<string, {name: string, unit: string}>} */
export const BUDGETS = {
  tool_calls: { name: 'Tool calls', unit: 'calls' },
  network_calls: { name: 'Calls that use the network', unit: 'calls' },
  seconds: { name: 'Time that tools run', unit: 'seconds' },
};

/** @type {Record<string, string>} */
export const WINDOWS = { run: 'in a run', day: 'in a day' };

/** @param {string} level */
export function levelName(level) {
  return LEVELS[level]?.name ?? kindText(level);
}

/** @param {string} outcome */
export function outcomeText(outcome) {
  return OUTCOMES[outcome] ?? kindText(outcome);
}

/**
 * Why something is as it is.
 *
 * @param {string} reason
 * @param {string} level  that the policy has now
 */
export function reasonText(reason, level) {
  if (reason === 'matrix') return `By the level ${levelName(level)}.`;
  return REASONS[reason] ?? `${kindText(reason)}.`;
}

/**
 * What a call does, as the end of a sentence.
 *
 * @param {{capability: string, capabilities?: string[]}} of
 */
export function doesText({ capability, capabilities }) {
  const does = (capabilities ?? [capability]).map((c) => CAPABILITIES[c]?.does ?? c.replaceAll('_', ' '));
  return does.length < 2 ? does.join('') : `${does.slice(0, -1).join(', ')} and ${does.at(-1)}`;
}

/**
 * What a grant is for, as the end of a sentence.
 *
 * @param {{args_hash?: string, target?: string}} match
 */
export function matchText(match) {
  if (match.target) return `with the target ${match.target}, whatever else it is given`;
  return match.args_hash ? 'with just these arguments' : 'whatever it is given';
}

/**
 * A time for the reader's own place; today's by the clock alone.
 *
 * @param {Date} date
 */
export function whenText(date) {
  const today = date.toDateString() === new Date().toDateString();
  if (today) return date.toLocaleTimeString(undefined, { timeStyle: 'short' });
  return date.toLocaleDateString(undefined, { dateStyle: 'medium' });
}

/**
 * How long it is until then, roughly.
 *
 * @param {number} ms
 */
export function roughly(ms) {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  if (minutes < 90) return minutes === 1 ? 'a minute' : `${minutes} minutes`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}
