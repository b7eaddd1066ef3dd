// The navigation of our pages: what the router has, and what is for operators,
// is offered once that is known.

import { ask, switchedOn } from './api.js';
import { isOperator } from './me.js';

if (window.parent === window) void offer();

async function offer() {
  const [on, me] = await Promise.all([switchedOn(), ask('/hux/api/me').catch(() => null)]);
  reveal('activity', on('hux.activity_timeline') || on('hux.autonomy'));
  reveal('autonomy', on('hux.autonomy'));
  reveal('status', me !== null && isOperator(me));
}

/**
 * @param {string} which
 * @param {boolean} offered
 */
function reveal(which, offered) {
  for (const link of document.querySelectorAll(`[data-pages] a[data-offer="${which}"]`)) {
    if (offered) link.removeAttribute('hidden');
  }
}
