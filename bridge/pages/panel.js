// The panel that the bridge frames beside the WebUI.

import { followMe } from './me.js';
import { joinBridge } from './theme.js';

joinBridge();
followMe((state) => {
  show('[data-signed-in]', state !== 'signed-out');
  show('[data-signed-out]', state === 'signed-out');
});

/**
 * @param {string} selector
 * @param {boolean} shown
 */
function show(selector, shown) {
  const place = document.querySelector(selector);
  if (place instanceof HTMLElement) place.hidden = !shown;
}
