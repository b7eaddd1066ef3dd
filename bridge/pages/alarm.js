// The alarm that a call ran which nobody had allowed, over what the page shows
// until it is closed.

import { element, plain } from './dom.js';

/** @typedef {import('./stream.js').HuxEvent} HuxEvent */

/**
 * @param {HuxEvent} event
 * @param {() => void} closed
 */
export function alarm(event, closed) {
  const close = element('button', { type: 'button', class: 'quiet' }, 'Close');
  const tool = event.data?.tool;
  const root = element(
    'li', { class: 'alarm', role: 'alert', 'data-alarm': String(event.seq) },
    element('p', {}, element('b', {}, 'It ran without being allowed: ', element('code', {}, plain(typeof tool === 'string' ? tool : 'a tool')))),
    element('p', {}, 'Nobody had allowed this call, so what asks before a call may not be at work in your agent. Tell whoever runs it.'),
    element(
      'div', { class: 'actions' },
      element('a', { href: `/hux/api/ui/activity#${event.conversation_id}`, target: '_blank', rel: 'noopener' }, 'See what it did'),
      close,
    ),
  );
  close.addEventListener('click', () => {
    root.remove();
    closed();
  });
  return root;
}
