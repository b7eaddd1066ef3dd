// The real WebUI with hux.autonomy on: its own approvals are decided in hux alone, and its runs are stopped at it.
/// <reference lib="dom" />
/// <reference path="./webui.d.ts" />
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { launchChromium } from '../lib/chromium.mjs';
import { request, startHux, until } from '../lib/hux.mjs';
import { startGateway } from './gateway.mjs';
import { booted, call, idle, sessionOf, soon } from './page.mjs';
import { startProvider } from '../lib/provider.mjs';
import { prepareWebUI, startWebUI } from './webui.mjs';

const clientSecret = 'client-secret-of-the-autonomy-tests';
const key = 'gateway-key-of-the-autonomy-tests';

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
let chat;
/** @type {import('playwright-core').Page} and her console */
let desk;

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
      slot_health_every: '500ms',
      flags: 'all',
    },
    env: { HUX_KEY: randomBytes(32).toString('base64'), HUX_OIDC_CLIENT_SECRET: clientSecret },
  });
  browser = await launchChromium();
  const context = await browser.newContext();
  await context.route((url) => !/(^|\.)localhost$|^127\.0\.0\.1$/.test(url.hostname), (route) => route.abort());
  chat = await context.newPage();
  await chat.goto(`${hux.chat}/`);
  await chat.getByRole('link', { name: 'alice' }).click();
  await booted(chat);
  desk = await context.newPage();
  await desk.goto(`${hux.console}/hux/api/ui/`);
  await desk.waitForURL(`${hux.console}/hux/api/ui/`);
});

after(async () => {
  await browser?.close();
  await hux?.stop();
  await slot?.remove();
  await gateway?.close();
  await provider?.close();
  webui?.remove();
});

/** Calls the API from the console, as its pages do. */
async function api(/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) {
  const { status, text } = await call(desk, `/hux/v1${path}`, body);
  assert.ok(status < 300, `${path}: ${status} ${text}`);
  return JSON.parse(text);
}

/** The one approval that waits. */
const asked = () => until(async () => (await api('/approvals?status=pending')).items[0], { timeout: 20_000, what: 'an approval' });

const decide = (/** @type {any} */ approval, /** @type {string} */ choice) =>
  api(`/approvals/${approval.id}`, { choice, evidence_hash: approval.request.evidence[0].hash });

/** Sends a message; returns the run that it started. */
async function send(/** @type {string} */ text) {
  const run = gateway.take();
  await chat.locator('#msg').fill(text);
  await chat.locator('#msg').press('Enter');
  return /** @type {Promise<import('./gateway.mjs').Run>} */ (soon(run, `the run of "${text}"`));
}

/** What the WebUI heard about approvals, from its own log. */
const heard = () => slot.seen().filter((s) => s.method === 'POST' && /approval|yolo/.test(s.path));

test('what a run waits for is decided in hux, and the WebUI hears once', async () => {
  assert.deepEqual((await api('/approvals?status=pending')).items, []);
  const run = await send('Clean up the build');
  const choice = run.ask('rm -rf build', 'deletes files');
  const approval = await asked();
  assert.equal(approval.request.tool, 'terminal');
  assert.deepEqual(approval.request.args_redacted, { command: 'rm -rf build' });
  assert.equal(approval.run_id, await chat.evaluate(() => S.activeStreamId));
  const conversation = await api('/conversations', { external_ref: { system: 'webui', id: await sessionOf(chat) } });
  assert.equal(approval.conversation_id, conversation.id);
  assert.deepEqual(heard(), []);

  await decide(approval, 'session');
  assert.equal(await soon(choice, 'the choice'), 'once');
  // What was granted for the session is answered at once.
  assert.equal(await soon(run.ask('rm -rf build', 'deletes files'), 'the choice that a grant makes'), 'once');
  const other = run.ask('rm -rf cache', 'deletes files');
  await decide(await asked(), 'deny');
  assert.equal(await soon(other, 'the other choice'), 'deny');
  run.complete('Done.');
  await idle(chat);
  assert.deepEqual(heard().map((s) => s.status), [200, 200, 200]);
});

test('the page neither sees nor answers what waits', async () => {
  const run = await send('Clean up again');
  let settled = false;
  const choice = run.ask('rm -rf dist', 'deletes files').finally(() => { settled = true; });
  const approval = await asked();
  const session = await sessionOf(chat);
  const before = heard().length;
  const pending = await call(chat, `/api/approval/pending?session_id=${session}`);
  assert.deepEqual(JSON.parse(pending.text), { pending: null, pending_count: 0 });
  for (const [path, body] of /** @type {[string, object | undefined][]} */ ([
    ['/api/approval/respond', { session_id: session, approval_id: approval.request.evidence[0].id, choice: 'once' }],
    ['/api/approval/respond', { session_id: session, choice: 'deny' }],
    ['/api/session/yolo', { session_id: session, enabled: true }],
    [`/api/approval/stream?session_id=${session}`, undefined],
  ])) {
    const answer = await call(chat, path, body);
    assert.equal(answer.status, 403, path);
    const told = JSON.parse(answer.text);
    assert.equal(told.code, 'policy_denied');
    assert.match(told.error, /HUX/);
  }
  // The page's own command for it ends there too.
  const refusal = chat.waitForResponse((r) => r.request().method() === 'POST' && /\/api\/(session\/yolo|approval\/respond)$/.test(r.url()));
  await chat.evaluate(() => { void cmdYolo(); });
  assert.equal((await refusal).status(), 403);
  assert.equal(settled, false);
  assert.equal(heard().length, before);
  await decide(approval, 'deny');
  assert.equal(await soon(choice, 'the choice'), 'deny');
  run.complete();
  await idle(chat);
});

test('what the WebUI waits for without a run is decided in hux too', async () => {
  const session = await sessionOf(chat);
  const past = { headers: { 'X-Hux-User': 'usr_past_the_router' } };
  await request(`${slot.url}/api/approval/inject_test?session_id=${session}&command=rm%20-rf%20old`, past);
  const approval = await asked();
  assert.deepEqual(approval.request.args_redacted, { command: 'rm -rf old' });
  await decide(approval, 'once');
  await until(async () => (await request(`${slot.url}/api/approval/pending?session_id=${session}`, past)).json().pending === null, { what: 'the WebUI waits no more' });
});

test('a stop is done when the run is over', async () => {
  const run = await send('Work for long');
  run.say('Working. ');
  const stream = await until(() => chat.evaluate(() => S.activeStreamId), { what: 'the page knows the turn' });
  const { id } = await api('/conversations', { external_ref: { system: 'webui', id: await sessionOf(chat) } });
  await until(async () => (await api(`/conversations/${id}/events`)).items.some((/** @type {any} */ e) => e.kind === 'run.started' && e.run_id === stream), { what: 'the bridge reports the run' });
  const waiting = run.ask('rm -rf everything', 'deletes files');
  const approval = await asked();
  const stopping = await api(`/conversations/${id}/runs/${stream}/cancel`, {});
  assert.equal(stopping.state, 'stopping');
  await soon(run.stopped, 'the stop at the gateway');
  await until(async () => (await api(`/conversations/${id}/runs/${stream}/cancel`)).receipt_id, { timeout: 20_000, what: 'the receipt' });
  const { state } = await api(`/conversations/${id}/runs/${stream}/cancel`);
  assert.equal(state, 'stopped');
  assert.equal((await api(`/approvals/${approval.id}`)).status, 'cancelled');
  await idle(chat);
  void waiting; // nobody answers a run that is over
});
