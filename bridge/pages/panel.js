// The panel that the bridge frames beside the WebUI: what happens in the
// conversation that is open, and who the user is.

import { switchedOn } from './api.js';
import { part } from './dom.js';
import { followMe } from './me.js';
import { joinBridge } from './theme.js';
import { Timeline } from './timeline.js';

const timeline = new Timeline(part(document, '[data-timeline]'), undefined, (count) => {
  pending = count;
  tellPending();
});
const tabs = Array.from(document.querySelectorAll('[role="tab"]'), (tab) => /** @type {HTMLElement} */ (tab));
const whole = part(document, '[data-whole]');
const wholePage = whole.getAttribute('href') ?? '';

/** @type {string | null} */
let conversation = null;
let enabled = false;
let pending = 0; // requests that wait

for (const tab of tabs) tab.addEventListener('click', () => select(tab));
part(document, '[role="tablist"]').addEventListener('keydown', (event) => {
  const at = tabs.findIndex((tab) => tab === document.activeElement);
  const to = { ArrowRight: tabs[at + 1] ?? tabs[0], ArrowLeft: tabs.at(at - 1), Home: tabs[0], End: tabs.at(-1) }[event.key];
  if (at < 0 || !to) return;
  event.preventDefault();
  select(to);
  to.focus();
});

const bridge = joinBridge((id) => {
  conversation = id;
  whole.setAttribute('href', id ? `${wholePage}#${id}` : wholePage);
  if (enabled) timeline.show(id);
}, { moved: () => timeline.decisions.guard.restart() });
followMe((state) => {
  part(document, '[data-signed-in]').hidden = state === 'signed-out';
  part(document, '[data-signed-out]').hidden = state !== 'signed-out';
  if (state === 'live') void enable();
});

/** Shows the timeline, or what waits for a decision, where the router has it. */
async function enable() {
  if (enabled) return;
  const on = await switchedOn();
  const seen = on('hux.activity_timeline');
  const decided = on('hux.autonomy');
  if (enabled || !(seen || decided)) return;
  enabled = true;
  if (decided) timeline.withAutonomy(!seen);
  part(document, '[data-autonomy]').hidden = !decided;
  part(document, '[data-tabs]').hidden = false;
  if (tabs[0]) select(tabs[0]);
  timeline.show(conversation);
}

/** @param {HTMLElement} chosen */
function select(chosen) {
  for (const tab of tabs) {
    tab.setAttribute('aria-selected', String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    part(document, `#${tab.getAttribute('aria-controls')}`).hidden = tab !== chosen;
  }
  tellPending();
}

/** The bridge need not show over the composer what is shown here. */
function tellPending() {
  bridge?.tell({ type: 'pending', count: part(document, '#activity').hidden ? 0 : pending });
}
