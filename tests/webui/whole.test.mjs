// The real WebUI with a real agent behind it: a person writes in the page, decides on the card over the composer, and sees
// in Activity what came of it.
/// <reference lib="dom" />
/// <reference path="./webui.d.ts" />
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, startHermes } from '../agent/hermes.mjs';
import { choose, composerFrame } from '../browser/agent.mjs';
import { launchChromium } from '../lib/chromium.mjs';
import { Agent } from '../lib/hooks.mjs';
import { freePort, startHux, until } from '../lib/hux.mjs';
import { startProvider } from '../lib/provider.mjs';
import { answered, booted, call, idle, sessionOf } from './page.mjs';
import { prepareWebUI, startWebUI } from './webui.mjs';

const clientSecret = 'client-secret-of-the-whole';

/** @type {ReturnType<typeof prepareWebUI>} */
let webui;
/** @type {Awaited<ReturnType<typeof startProvider>>} */
let provider;
/** @type {import('./webui.mjs').Instance} */
let slot;
/** @type {import('../lib/hux.mjs').Hux} */
let hux;
/** @type {import('../agent/hermes.mjs').Hermes} */
let agent;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {import('playwright-core').Page} alice's chat */
let page;
/** @type {import('playwright-core').Page} and her console */
let console_;

before(async () => {
  webui = prepareWebUI();
  provider = await startProvider({ clientID: 'hux', clientSecret, people: { alice: [] } });
  const port = await freePort();
  slot = await startWebUI(webui, { name: 'one', gateway: { url: `http://127.0.0.1:${port}` }, key });
  hux = await startHux({
    command: 'serve',
    config: {
      public_url: 'http://chat.hux.localhost:PORT',
      console_url: 'http://console.hux.localhost:PORT',
      oidc_issuer: provider.issuer,
      oidc_client_id: provider.clientID,
      slots: [{ id: 'one', url: slot.url }],
      flags: 'all',
    },
    env: { HUX_KEY: randomBytes(32).toString('base64'), HUX_OIDC_CLIENT_SECRET: clientSecret },
  });
  browser = await launchChromium();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.route((url) => !/(^|\.)localhost$|^127\.0\.0\.1$/.test(url.hostname), (route) => route.abort());
  page = await context.newPage();
  await page.goto(`${hux.chat}/`);
  await page.getByRole('link', { name: 'alice' }).click();
  await booted(page); // so that the slot is hers
  const credentials = new Agent(hux, 'one');
  agent = await startHermes({ version: '0.22', port, connect: (file, program) => credentials.install(file, program) });
  console_ = await context.newPage();
});

after(async () => {
  await browser?.close();
  await agent?.stop();
  await hux?.stop();
  await slot?.remove();
  await provider?.close();
  webui?.remove();
});

/** What Activity shows of calls, a line each. */
const lines = () => console_.$$eval('.event:is([data-kind="tool.started"], [data-kind="tool.finished"])', (all) => all
  .filter((row) => row.checkVisibility()).map((row) => row.querySelector('.what')?.textContent?.replaceAll('\u00a0', ' ') ?? ''));

test('what is decided on the card comes true at the agent, and a call is one line in Activity', async () => {
  const made = join(agent.home, 'made');
  const denied = join(agent.home, 'denied');
  agent.model.script('Make two files', ...[denied, made].map((file) => ({ tool: 'terminal', args: { command: `touch ${file}` } })));
  await page.locator('#msg').fill('Make two files');
  await page.locator('#msg').press('Enter');

  const cards = await composerFrame(page);
  for (const [file, choice] of [[denied, 'deny'], [made, 'once']]) {
    const card = cards.locator('[data-approval]').filter({ hasText: file });
    await card.waitFor({ timeout: 60_000 });
    assert.ok(!existsSync(file));
    await choose(cards, /** @type {string} */ (await card.getAttribute('data-approval')), choice);
  }
  await answered(page, /Done\./);
  await idle(page);
  assert.ok(existsSync(made));
  assert.ok(!existsSync(denied));
  const [blocked, ran] = agent.model.results('Make two files');
  assert.match(ran, /"exit_code": 0/);
  assert.match(blocked, /the person has denied this/);

  await console_.goto(`${hux.console}/hux/api/ui/activity`);
  const { text } = await call(console_, '/hux/v1/conversations', { external_ref: { system: 'webui', id: await sessionOf(page) } });
  const { id } = JSON.parse(text);
  // The agent tells how both ended, and the page of the one that ran, under an id of its own.
  /** @returns {Promise<any[]>} */
  const told = async () => JSON.parse((await call(console_, `/hux/v1/conversations/${id}/events?limit=200`)).text).items
    .filter((/** @type {any} */ e) => e.kind === 'tool.finished').map((/** @type {any} */ e) => `${e.reported_by ?? 'agent'}: ${e.data.tool} ${e.status}`).sort();
  const wanted = ['agent: terminal completed', 'agent: terminal failed', 'page: terminal completed'];
  await until(async () => String(await told()) === String(wanted), { timeout: 20_000, what: 'all is told' })
    .catch(async (error) => { throw new Error((await told()).join('\n'), { cause: error }); });

  await console_.goto(`${hux.console}/hux/api/ui/activity#${id}`);
  await console_.waitForSelector('[data-stream][data-state="live"]');
  await until(async () => (await lines()).length === 2, { what: 'a line for each call' })
    .catch(async (error) => { throw new Error((await lines()).join('\n'), { cause: error }); });
  const [first, second] = await lines();
  assert.match(first, /touch .*denied.*Tool finished · failed/);
  assert.match(second, /touch .*made.*Tool finished · completed/);
  const rows = console_.locator('.event[data-kind="tool.finished"]:visible');
  for (const n of [0, 1]) await rows.nth(n).locator('.line').click();
  assert.doesNotMatch(await rows.nth(0).innerText(), /your page saw/);
  assert.match(await rows.nth(1).innerText(), /tool\.finished as your page saw it/);
  await console_.screenshot({ path: new URL('screenshots/whole-activity.png', import.meta.url).pathname });
  assert.equal(await console_.locator('.event.alarm').count(), 0);
});
