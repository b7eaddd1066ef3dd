// A long call is decided where it is shown, however little room there is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { armed, choose, composerFrame, demoWithAgent, openSession } from './agent.mjs';
import { openPanel, picture, signedIn } from './support.mjs';

const running = demoWithAgent();
const command = Array.from({ length: 60 }, (_, i) => `echo "step ${i} of a long script" >> /home/alice/log.txt`).join('\n');
const args = { command, timeout: 30, cwd: '/home/alice/project' };
const phone = { width: 390, height: 667 };
const desk = { width: 1280, height: 800 };

for (const [name, viewport, inPanel] of /** @type {const} */ ([
  ['over the composer of a phone', phone, false],
  ['in the panel of a phone', phone, true],
  ['over the composer', desk, false],
  ['in the panel', desk, true],
])) {
  test(`a long call is decided ${name}`, async () => {
    const { agent, hux } = running;
    const page = await signedIn(running, 'alice', { viewport });
    const conversation = await agent.conversation(await openSession(page));
    const run = await agent.run(conversation);
    const composer = await composerFrame(page);
    const view = inPanel ? await openPanel(page, hux.console, 'Activity') : composer;
    const { approval_id: id } = await agent.ask(conversation, run, { args, summary: 'Writes the log of all steps' });
    try {
      await armed(view, id);
    } finally {
      await picture(page, `room-${name.replaceAll(' ', '-')}`);
    }
    assert.ok(await view.$eval(`[data-approval="${id}"] .call-box`, (box) => box.scrollHeight > box.clientHeight && box.tabIndex === 0), 'what would run scrolls');
    if (inPanel) await until(async () => (await page.locator('.hux-decisions iframe').boundingBox())?.height === 0, { what: 'it is not shown twice' });
    await choose(view, id, 'once');
    assert.equal((await agent.decided(id)).decision.choice, 'once');
    await page.context().close();
  });
}
