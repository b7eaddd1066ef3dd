// What a stopped run had done by its end, as its receipt has it.

import { ask, Refused } from './api.js';
import { outcomeText } from './autonomy-words.js';
import { element, plain } from './dom.js';
import { kindText } from './events.js';

/** @typedef {import('../hux.d.ts').Receipt} Receipt */

/** @type {Record<string, string>} */
const EFFECTS = {
  file: 'File', process: 'Program', network: 'Network', message: 'Message', memory: 'Memory',
  artifact: 'Artifact', deploy: 'Deployment', other: 'Other',
};

let made = 0;

/**
 * A line that opens to the receipt.
 *
 * @param {{id: string, outcome: string, effects: number, more?: string}} of
 * @param {() => Promise<Receipt>} [read]  gives it; by default from the router
 */
export function receiptLine({ id, outcome, effects, more }, read = () => ask(`/hux/v1/receipts/${id}`)) {
  const body = element('div', { id: `receipt-${++made}`, class: 'receipt-body', hidden: '' });
  const count = effects === 0 ? 'no side effects seen' : effects === 1 ? '1 side effect' : `${effects} side effects`;
  const head = element(
    'button',
    { type: 'button', class: 'receipt-head', 'aria-expanded': 'false', 'aria-controls': body.id },
    element('span', { class: 'mark', 'aria-hidden': 'true' }),
    element('span', {}, element('b', {}, outcomeText(outcome)), ` · ${count}`),
    ...(more ? [element('span', { class: 'muted' }, more)] : []),
  );
  head.addEventListener('click', async () => {
    const open = head.getAttribute('aria-expanded') !== 'true';
    head.setAttribute('aria-expanded', String(open));
    body.hidden = !open;
    if (!open || body.childElementCount > 0) return;
    body.textContent = 'Loading…';
    try {
      body.replaceChildren(...details(await read()));
    } catch (error) {
      body.replaceChildren();
      body.textContent = error instanceof Refused ? error.message : 'The router did not answer. Close this and open it again.';
    }
  });
  return element('div', { class: 'receipt', 'data-receipt': id, 'data-outcome': outcome }, head, body);
}

/** @param {Receipt} receipt */
function details(receipt) {
  const list = element('ul', { class: 'effects' }, ...receipt.side_effects.map((effect) => element(
    'li',
    { 'data-reverted': String(effect.reverted) },
    element('span', { class: 'tag' }, EFFECTS[effect.kind] ?? kindText(effect.kind)),
    element('span', {}, plain(effect.summary)),
    element('span', { class: 'muted' }, effect.reverted ? 'Reverted' : effect.reversible ? 'Not reverted; it could be' : 'Not reverted'),
  )));
  const asked = `Stop asked for ${new Date(receipt.requested_at).toLocaleString()}, receipt written ${new Date(receipt.completed_at).toLocaleTimeString()}.`;
  return [
    ...(receipt.side_effects.length > 0 ? [list] : [element('p', {}, 'Nothing is known to have been done.')]),
    element('p', { class: 'muted' }, receipt.coverage === 'full' ? asked : `${asked} Not all that the run did could be observed.`),
  ];
}
