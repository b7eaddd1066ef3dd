// The alarm that a call ran which nobody had allowed, as a page shows it until
// it is closed.

import { element, plain, timeElement } from './dom.js';
import { isAlarm } from './events.js';

/** @typedef {import('./api.js').Alarm} Alarm */
/** @typedef {import('./stream.js').HuxEvent} HuxEvent */

/**
 * @param {HuxEvent[]} events
 * @returns {Alarm[]}
 */
export function alarmsOf(events) {
  return events.filter(isAlarm).map(({ conversation_id, run_id, created_at, data }) => ({
    conversation_id, run_id: run_id ?? '', at: created_at, tool: String(data?.tool ?? 'a tool'), stopped: data?.stopped === true,
  }));
}

/**
 * @param {Alarm} alarm
 * @param {() => void} closed
 */
export function alarmElement({ conversation_id: conversation, at, tool, stopped }, closed) {
  const close = element('button', { type: 'button', class: 'quiet' }, 'Close');
  const root = element(
    'li', { class: 'alarm', role: 'alert' },
    element('p', {}, element('b', {}, 'Ran without being allowed: ', element('code', {}, plain(tool))), ' ', timeElement(at)),
    element('p', {}, `${stopped ? 'The run was asked to stop. ' : ''}Nobody had allowed this call, so what asks before each call may not be at work in your agent. Tell whoever runs it.`),
    element(
      'div', { class: 'actions' },
      element('a', { href: `/hux/api/ui/activity#${conversation}`, target: '_blank', rel: 'noopener' }, 'See what it did'),
      close,
    ),
  );
  close.addEventListener('click', () => {
    root.remove();
    closed();
  });
  return root;
}
