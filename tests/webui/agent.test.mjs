// The agent behind the real WebUI asks and tells hux by its hooks, as the person's page tells hux by the bridge: both
// must mean one conversation, and one run. The stand-in gateway gets from the WebUI what the real one gets, and hands
// to the hooks what Hermes hands to them: the session that the WebUI named.
/// <reference lib="dom" />
/// <reference path="./webui.d.ts" />
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { launchChromium } from '../lib/chromium.mjs';
import { startHux, until } from '../lib/hux.mjs';
import { startGateway } from './gateway.mjs';
import { Agent } from '../lib/hooks.mjs';
import { booted, call, idle, sessionOf, soon } from './page.mjs';
import { startProvider } from '../lib/provider.mjs';
import { prepareWebUI, startWebUI } from './webui.mjs';

const key = 'gateway-key-of-the-only-slot';
const clientSecret = 'client-secret-of-the-agent-tests';

/** @type {ReturnType<typeof prepareWebUI>} */
let webui;
/** @type {Awaited<ReturnType<typeof startProvider>>} */
let provider;
/** @type {import('./gateway.mjs').Gateway} */
let gateway;
/** @type {import('./webui.mjs').Instance} */
let slot;
/** @type {import('../lib/hux.mjs').Hux} */
let hux;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {import('playwright-core').Page} alice's chat */
let page;
/** @type {import('playwright-core').Page} and her console */
let console_;
/** @type {Agent} */
let agent;

before(async () => {
  webui = prepareWebUI();
  provider = await startProvider({ clientID: 'hux', clientSecret, people: { alice: [] } });
  gateway = await startGateway({ key });
  slot = await startWebUI(webui, { name: 'one', gateway, key });
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
  await booted(page);
  console_ = await context.newPage();
  await console_.goto(`${hux.console}/hux/api/ui/`);
  agent = new Agent(hux, 'one');
});

after(async () => {
  await browser?.close();
  await hux?.stop();
  await slot?.remove();
  await gateway?.close();
  await provider?.close();
  webui?.remove();
});

/** Sends a message; returns the run that it started. */
async function send(/** @type {string} */ text) {
  const run = gateway.take();
  await page.locator('#msg').fill(text);
  await page.locator('#msg').press('Enter');
  return /** @type {Promise<import('./gateway.mjs').Run>} */ (soon(run, `the run of "${text}"`));
}

/** Asks hux on the console, as a page of ours there does. */
async function ask(/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) {
  const { status, text } = await call(console_, `/hux/v1${path}`, body);
  assert.ok(status === 200 || status === 201, `${path}: ${status} ${text}`);
  return JSON.parse(text);
}

/** The events of alice's only conversation. */
async function events() {
  const { items } = await ask('/conversations');
  assert.equal(items.length, 1, JSON.stringify(items));
  return (await ask(`/conversations/${items[0].id}/events?limit=200`)).items;
}

/** Decides the approval that is pending. */
async function decide(/** @type {string} */ choice, /** @type {string} */ reason = 'as the test has it') {
  const approval = await until(async () => (await ask('/approvals?status=pending')).items[0], { what: 'an approval' });
  await ask(`/approvals/${approval.id}`, { choice, reason, evidence_hash: approval.request.evidence[0].hash });
  return approval;
}

test('the session that the WebUI names to the agent is the one that its page has open', async () => {
  const run = await send('Clean up the build');
  assert.equal(run.request.session_id, await sessionOf(page));
  assert.equal(run.headers['x-hermes-session-id'], await sessionOf(page));

  const session = run.request.session_id;
  const started = await until(async () => (await events()).find((/** @type {any} */ e) => e.kind === 'run.started'), { what: 'the bridge reports the run' });
  assert.equal(started.reported_by, 'page');

  // A tool that only reads runs at once; a command waits for alice, who sees what would run.
  const turn = 'turn-of-the-test';
  const reads = { session, turn, id: 'call_reads_the_readme', tool: 'read_file', args: { path: 'README.md' } };
  await agent.webhook('pre_tool_call', reads, {}, 2);
  assert.equal(await agent.mayRun(reads), null);
  run.toolStarted('read_file', 'README.md');
  run.toolCompleted('read_file', 'read');
  await agent.hasRun(reads, { status: 'ok', duration_ms: 3, result: 'what the file says' });
  await agent.webhook('post_tool_call', reads, { status: 'ok', duration_ms: 3, result: 'what the file says' }, 2);

  const removes = { session, turn, id: 'call_removes_the_build', tool: 'terminal', args: { command: 'rm -rf build' } };
  const allowed = agent.mayRun(removes);
  const approval = await decide('once');
  assert.equal(await soon(allowed, 'the hook'), null);
  assert.match(approval.request.summary, /rm -rf build/);
  assert.equal(approval.run_id, started.run_id);
  await agent.hasRun(removes, { status: 'ok', duration_ms: 5 });

  const again = { ...removes, id: 'call_removes_the_sources', args: { command: 'rm -rf src' } };
  const blocked = agent.mayRun(again);
  await decide('deny', 'Leave the sources');
  assert.match((await soon(blocked, 'the hook')) ?? '', /denied.*Leave the sources.*not try it again/);

  run.say('Done.');
  run.complete();
  await idle(page);
  const finished = await until(async () => (await events()).find((/** @type {any} */ e) => e.kind === 'run.finished'), { what: 'the bridge reports the end' });
  assert.equal(finished.run_id, started.run_id);

  // One conversation, one run in it, and of each call of the agent's one start and one end.
  const all = await events();
  const ofAgent = all.filter((/** @type {any} */ e) => e.provenance.actor.kind === 'agent' && e.kind.startsWith('tool.'));
  assert.deepEqual(
    ofAgent.map((/** @type {any} */ e) => [e.kind, e.status, e.data.tool_call_id, e.run_id]),
    [
      ['tool.started', 'started', reads.id, started.run_id],
      ['tool.finished', 'completed', reads.id, started.run_id],
      ['tool.finished', 'completed', removes.id, started.run_id],
    ],
  );
  assert.deepEqual(
    all.filter((/** @type {any} */ e) => e.kind === 'approval.resolved').map((/** @type {any} */ e) => [e.status, e.run_id]),
    [['completed', started.run_id], ['failed', started.run_id]],
  );
  assert.ok(!JSON.stringify(all).includes('what the file says'));
});

test('another conversation of the WebUI is another one here', async () => {
  const before = await sessionOf(page);
  await page.locator('#btnNewChat').click();
  await until(async () => (await sessionOf(page)) !== before, { what: 'the new conversation is open' });
  const run = await send('Something else');
  const session = await sessionOf(page);
  assert.equal(run.request.session_id, session);
  await agent.webhook('post_tool_call', { session, turn: 'turn-2', id: 'call_of_another_session', tool: 'read_file', args: { path: 'a' } }, { status: 'ok' });
  run.complete();
  await idle(page);
  await until(async () => (await ask('/conversations')).items.length === 2, { what: 'two conversations' });
  const { items } = await ask('/conversations');
  const logs = await Promise.all(items.map(async (/** @type {any} */ c) => JSON.stringify((await ask(`/conversations/${c.id}/events?limit=200`)).items)));
  assert.equal(logs.filter((log) => log.includes('call_of_another_session')).length, 1);
  for (const conversation of items) assert.deepEqual(conversation.external_refs.map((/** @type {any} */ r) => r.system).sort(), ['hermes_session', 'webui']);
});
