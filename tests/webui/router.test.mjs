// The real WebUI through `hux serve`, in Chromium: two instances, two people, one stand-in gateway each. What counts
// for "did not reach the WebUI" is the WebUI's own request log.
/// <reference lib="dom" />
/// <reference path="./webui.d.ts" />
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launchChromium } from '../lib/chromium.mjs';
import { request, startHux, until } from '../lib/hux.mjs';
import { startGateway } from './gateway.mjs';
import { answered, answers, booted, call, idle, sessionOf, shown, soon } from './page.mjs';
import { startProvider } from '../lib/provider.mjs';
import { prepareWebUI, startWebUI } from './webui.mjs';

/** @typedef {import('playwright-core').Page} Tab */

const screenshots = fileURLToPath(new URL('screenshots', import.meta.url));
const clientSecret = 'client-secret-of-the-webui-tests';

/** @type {ReturnType<typeof prepareWebUI>} */
let webui;
/** @type {Awaited<ReturnType<typeof startProvider>>} */
let provider;
/** @type {import('../lib/hux.mjs').Hux} */
let hux;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {import('playwright-core').BrowserContext} */
let context;
/** @type {import('playwright-core').Page} alice's page, open through the whole file */
let page;
/** @type {{gateway: import('./gateway.mjs').Gateway, key: string, slot: import('./webui.mjs').Instance}[]} */
const slots = [];
/** The slot of each person, as /hux/api/me names it. @type {Record<string, typeof slots[number]>} */
const of = {};
/** Exceptions in any page. @type {string[]} */
const errors = [];

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  webui = prepareWebUI();
  provider = await startProvider({ clientID: 'hux', clientSecret, people: { alice: [], bob: [], olga: ['hux-operator'] } });
  for (const name of ['one', 'two']) {
    const key = `gateway-key-of-slot-${name}`;
    const gateway = await startGateway({ key });
    slots.push({ gateway, key, slot: await startWebUI(webui, { name, gateway, key, logoutURL: 'http://console.hux.localhost/hux/api/ui/sign-out' }) });
  }
  hux = await startHux({
    command: 'serve',
    config: {
      public_url: 'http://chat.hux.localhost:PORT',
      console_url: 'http://console.hux.localhost:PORT',
      oidc_issuer: provider.issuer,
      oidc_client_id: provider.clientID,
      slots: slots.map(({ slot }) => ({ id: slot.name, url: slot.url })),
      slot_health_every: '500ms',
    },
    env: { HUX_KEY: randomBytes(32).toString('base64'), HUX_OIDC_CLIENT_SECRET: clientSecret },
  });
  browser = await launchChromium();
  context = await newContext();
  page = await context.newPage();
  await signIn(page, 'alice');
});

beforeEach(() => { errors.length = 0; });

after(async () => {
  await browser?.close();
  await hux?.stop();
  for (const { slot, gateway } of slots) {
    await slot.remove();
    await gateway.close();
  }
  await provider?.close();
  webui?.remove();
});

async function newContext(options = {}) {
  const made = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  // The page names libraries at a content network; a test reaches nothing outside.
  await made.route((url) => !/(^|\.)localhost$|^127\.0\.0\.1$/.test(url.hostname), (route) => route.abort());
  made.on('page', (opened) => opened.on('pageerror', (error) => errors.push(error.message)));
  return made;
}

/** Opens the chat and signs in; ends when the WebUI has booted. */
async function signIn(/** @type {Tab} */ tab, /** @type {string} */ name) {
  await tab.goto(`${hux.chat}/`);
  assert.ok(tab.url().startsWith(provider.issuer), `the provider's page, not ${tab.url()}`);
  await tab.getByRole('link', { name }).click();
  await booted(tab);
  const me = await tab.evaluate(async () => (await fetch('/hux/api/me')).json());
  assert.equal(me.name, name);
  const slot = slots.find((s) => s.slot.name === me.tenant.slot);
  assert.ok(slot, 'a slot of ours');
  of[name] = slot;
  return me;
}

/** Sends a message; returns the run that it started, for the test to speak through. */
async function send(/** @type {Tab} */ tab, /** @type {string} */ who, /** @type {string} */ text) {
  const run = of[who].gateway.take();
  await tab.locator('#msg').fill(text);
  await tab.locator('#msg').press('Enter');
  return /** @type {Promise<import('./gateway.mjs').Run>} */ (soon(run, `the run of "${text}"`));
}

test('the shell boots with everything else denied, and no exception', async () => {
  /** @type {string[]} */
  const refused = [];
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${new URL(answer.url()).pathname}`);
  });
  await page.reload();
  await booted(page);
  const panels = await page.locator('[data-panel]').evaluateAll((all) => [...new Set(all.map((e) => /** @type {HTMLElement} */ (e).dataset.panel ?? ''))]);
  assert.ok(panels.length > 5);
  for (const panel of panels) {
    await page.evaluate(async (name) => { await switchPanel(name); }, panel);
  }
  await page.evaluate(() => switchPanel('chat'));
  assert.deepEqual(errors, []);
  // The two that answer 500 read the agent's own package, which a WebUI with a gateway elsewhere does not have. The
  // bridge asks which cards are on, and a router without any has no API.
  const unexpected = refused.filter((line) => !line.startsWith('403 ') && !/^500 \/api\/skills|^404 \/hux\/v1\/capabilities$/.test(line));
  assert.deepEqual(unexpected, []);
});

test('an answer is seen word by word', async () => {
  const run = await send(page, 'alice', 'Tell me of the sea');
  // While a turn runs the page holds back the last letters that it got.
  run.say('The tide rises at noon. ');
  await shown(page, 'The tide rises');
  assert.ok(!(await answers(page)).join().includes('falls'));
  run.say('It falls again at dusk.');
  await shown(page, 'It falls again');
  assert.equal(await page.evaluate(() => S.busy), true);
  run.complete();
  await idle(page);
  await answered(page, /The tide rises at noon\. It falls again at dusk\./);
  assert.equal(await page.locator('#sessionList .session-item').count(), 1);
  await page.screenshot({ path: `${screenshots}/chat.png` });
  assert.deepEqual(errors, []);
});

test('a tool call is shown and a command is approved', async () => {
  const run = await send(page, 'alice', 'Clean up the build');
  run.toolStarted('terminal', 'rm -rf build');
  const choice = run.ask('rm -rf build', 'deletes files');
  await page.locator('#approvalCard.visible').waitFor();
  assert.match(await page.locator('#approvalCmd').innerText(), /rm -rf build/);
  await page.locator('#approvalBtnOnce').hover(); // the card has come to rest
  await page.screenshot({ path: `${screenshots}/approval.png` });
  await page.locator('#approvalBtnOnce').click();
  assert.equal(await soon(choice, 'the choice'), 'once');
  run.toolCompleted('terminal', 'gone');
  run.say('Done.');
  run.complete();
  await idle(page);
  await answered(page, /Done\./);
  assert.deepEqual(errors, []);
});

test('"always" and "skip all" are refused by the router, "deny" is not', async () => {
  const run = await send(page, 'alice', 'Clean up again');
  let settled = false;
  const choice = run.ask('rm -rf cache', 'deletes files').finally(() => { settled = true; });
  await page.locator('#approvalCard.visible').waitFor();
  const before = of.alice.slot.seen().length;
  const refusal = page.waitForResponse((r) => r.url().endsWith('/api/approval/respond'));
  await page.locator('#approvalBtnAlways').click();
  assert.equal((await refusal).status(), 403);
  const session = await sessionOf(page);
  assert.equal((await call(page, '/api/approval/respond', { session_id: session, choice: 'once', yolo: true })).status, 403);
  assert.equal((await call(page, '/api/session/yolo', { session_id: session, enabled: true })).status, 403);
  assert.equal(settled, false);
  assert.deepEqual(of.alice.slot.seen().slice(before).filter((s) => s.method === 'POST' && /approval|yolo/.test(s.path)), []);

  // The card comes back with the next poll, since the run still waits.
  await page.locator('#approvalCard.visible').waitFor();
  await page.locator('#approvalBtnDeny').click();
  assert.equal(await soon(choice, 'the choice'), 'deny');
  run.say('Left alone.');
  run.complete();
  await idle(page);
});

test('stop reaches the agent', async () => {
  const run = await send(page, 'alice', 'Count to a million');
  run.say('1 ');
  await page.locator('#btnSend[data-action="stop"]').click();
  await soon(run.stopped, 'the stop');
  await idle(page);
});

test('a failing turn says why', async () => {
  const run = await send(page, 'alice', 'Try something hard');
  run.think('It may not work.');
  run.say('I tried');
  run.fail('the model is not available');
  await idle(page);
  await shown(page, 'the model is not available');
  assert.deepEqual(errors, []);
});

test('an uploaded picture and a file reach the agent and are shown', async () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await page.locator('#fileInput').setInputFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: png },
    { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('x'.repeat(300_000)) },
  ]);
  const run = await send(page, 'alice', 'Look at these');
  assert.match(run.text, /note\.txt/);
  run.say('Seen.');
  run.complete();
  await idle(page);
  const picture = page.locator('img[src*="file/raw"]').last();
  await picture.waitFor();
  await until(() => picture.evaluate((img) => /** @type {HTMLImageElement} */ (img).naturalWidth === 1), { what: 'the picture is drawn' });
  await page.screenshot({ path: `${screenshots}/upload.png` });
  assert.deepEqual(errors, []);
});

test('a conversation comes back after a reload, at its own address', async () => {
  const session = await sessionOf(page);
  await page.goto(`${hux.chat}/session/${session}`);
  await booted(page);
  await shown(page, 'The tide rises at noon.');
  assert.equal(await sessionOf(page), session);
});

test('a run goes on while the page is away', async () => {
  const run = await send(page, 'alice', 'Something long');
  run.say('First this, ');
  await shown(page, 'First');
  await page.reload();
  await booted(page);
  run.say('then that.');
  run.complete();
  await shown(page, 'First this, then that.');
  await idle(page);
});

test('denied paths do not reach the WebUI', async () => {
  const denied = [
    '/api/terminal/start', '/api/shutdown', '/api/updates/check', '/api/updates/apply', '/api/extensions/install', '/api/mcp/servers',
    '/api/crons', '/api/commands/exec', '/api/kanban/dispatch', '/api/escape/list', '/api/file/reveal', '/api/workspaces/add',
    '/api/rollback/list', '/api/git/push', '/api/media?path=/etc/passwd', '/api/approval/inject_test', '/api/clarify/inject_test',
    '/api/profiles', '/api/profile/active', '/api/onboarding/probe', '/api/providers', '/api/default-model', '/api/auth/login', '/api/skills/save',
    '/api/logs', '/api/health/agent', '/api/system/health', '/api/insights', '/api/wiki/status', '/api/notes/search', '/api/share/create',
    '/api/session/toolsets', '/api/session/import', '/api/sessions?all_profiles=1', '/some/plugin',
  ];
  const before = of.alice.slot.seen().length;
  for (const path of denied) {
    for (const body of [undefined, {}]) {
      const { status, type } = await call(page, path, body);
      assert.ok(status === 403 || status === 405, `${path}: ${status}`);
      assert.match(type, /json/, path);
    }
  }
  const { status } = await call(page, '/api/session/new', { enabled_toolsets: ['terminal'] });
  assert.equal(status, 403, 'a session with tools of its own choice');
  const reached = of.alice.slot.seen().slice(before).map((s) => s.path);
  for (const path of denied) assert.ok(!reached.includes(path), path);
});

test('the identity is ours and the cookie stays here', async () => {
  const { user } = JSON.parse((await call(page, '/hux/api/me')).text);
  const status = JSON.parse((await call(page, '/api/auth/status')).text);
  assert.equal(status.user, user);
  const forged = await page.evaluate(async () => (await fetch('/api/auth/status', { headers: { 'X-Hux-User': 'usr_forged', x_hux_user: 'usr_forged' } })).json());
  assert.equal(forged.user, user);
  const names = (await context.cookies(hux.chat)).map((c) => c.name);
  assert.ok(names.includes('__Host-hux_chat'), names.join());
  assert.ok(names.some((name) => name.endsWith('hws_one') || name.endsWith('hws_two')), names.join());
});

test('no body becomes a request of its own', async () => {
  const cookie = (await context.cookies(hux.chat)).map((c) => `${c.name}=${c.value}`).join('; ');
  const body = 'GET /api/projects?smuggled=1 HTTP/1.1\r\nHost: x\r\nX-Hux-User: usr_other\r\n\r\n';
  /** @type {Record<string, string>[]} */
  const variants = [{}, { Connection: 'Upgrade', Upgrade: 'x' }];
  for (const upgrade of variants) {
    for (const [method, path] of [['GET', '/health'], ['GET', '/api/settings'], ['POST', '/api/upload'], ['POST', '/api/session/new'], ['DELETE', '/api/prompts']]) {
      const headers = { Cookie: cookie, Origin: hux.chat, 'Content-Length': String(body.length), ...upgrade };
      const { status } = await request(hux.chat + path, { method, headers, body });
      assert.ok(status >= 400, `${method} ${path}: ${status}`);
    }
  }
  await call(page, '/api/projects');
  for (const { slot } of slots) assert.ok(!slot.log().includes('smuggled'));
});

test('the self-check finds nothing amiss with the pinned version', async () => {
  const other = await newContext();
  const tab = await other.newPage();
  await tab.goto(`${hux.console}/hux/api/ui/`);
  await tab.getByRole('link', { name: 'olga' }).click();
  await tab.waitForURL(`${hux.console}/hux/api/ui/`); // behind the page that gets the chat ready
  await until(() => /"self-check done","slots":2/.test(hux.log()), { what: 'the self-check' });
  const answer = await call(tab, '/hux/api/status');
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(JSON.parse(answer.text).findings, []);
  await other.close();
});

test('the bridge has its button and its panel in the theme, light and dark', async () => {
  const button = page.locator('.hux-button');
  for (const theme of ['dark', 'light']) {
    await page.evaluate((dark) => document.documentElement.classList.toggle('dark', dark), theme === 'dark');
    await button.click();
    const frame = page.frameLocator('.hux-frame');
    await frame.getByText('alice').first().waitFor();
    const [page_, framed] = [
      await page.evaluate(() => getComputedStyle(document.body).getPropertyValue('--text').trim()),
      () => frame.locator('html').evaluate((html) => getComputedStyle(html).getPropertyValue('--text').trim()),
    ];
    await until(async () => (await framed()).toLowerCase() === page_.toLowerCase(), { what: `the panel is ${theme}` });
    await page.screenshot({ path: `${screenshots}/bridge-${theme}.png` });
    await page.locator('.hux-close').click();
  }
  await page.evaluate(() => document.documentElement.classList.add('dark'));
  assert.deepEqual(errors, []);
});

test('on a phone the button and the panel have room', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  const button = page.locator('.hux-button');
  await button.waitFor();
  await page.screenshot({ path: `${screenshots}/phone.png` });
  const overlap = await button.evaluate((mine) => {
    const a = mine.getBoundingClientRect();
    return [...document.querySelectorAll('header.app-titlebar button')].filter((other) => {
      const b = other.getBoundingClientRect();
      return other !== mine && b.width > 0 && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    }).map((other) => other.id);
  });
  assert.deepEqual(overlap, []);
  await button.click();
  await page.frameLocator('.hux-frame').getByText('alice').first().waitFor();
  await page.screenshot({ path: `${screenshots}/phone-panel.png` });
  await page.locator('.hux-close').click();
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('the service worker keeps the shell and leaves our pages alone', async () => {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await booted(page);
  assert.ok(await page.evaluate(() => navigator.serviceWorker.controller !== null));
  const session = await sessionOf(page);

  // A page of ours in between must not become the shell.
  const tab = await context.newPage();
  await tab.goto(`${hux.chat}/hux/auth/start?next=/`);
  await tab.goto(`${hux.chat}/hux/api/ui/`);
  await tab.close();
  await context.setOffline(true);
  await page.goto(`${hux.chat}/session/${session}`);
  assert.equal(await page.locator('header.app-titlebar').count(), 1);
  assert.ok(await page.locator('#msg').count());
  await page.screenshot({ path: `${screenshots}/offline.png` });
  await context.setOffline(false);
  await page.reload();
  await booted(page);
});

test('signed out, a page under the service worker leads to sign-in', async () => {
  const other = await newContext();
  const tab = await other.newPage();
  await signIn(tab, 'alice');
  await tab.evaluate(() => navigator.serviceWorker.ready);
  await tab.reload();
  await booted(tab);
  assert.ok(await tab.evaluate(() => navigator.serviceWorker.controller !== null));
  // As when the session has ended: the worker is still there, and asks for the page with fetch.
  await tab.goto('about:blank');
  await other.clearCookies();
  await tab.goto(`${hux.chat}/session/somewhere`);
  assert.ok(tab.url().startsWith(provider.issuer), `the provider's page, not ${tab.url()}`);
  await tab.getByRole('link', { name: 'alice' }).click();
  await booted(tab);
  await other.close();
});

test('two people see nothing of each other', async () => {
  const other = await newContext();
  const tab = await other.newPage();
  await signIn(tab, 'bob');
  assert.notEqual(of.bob, of.alice);
  const theirs = await sessionOf(page);
  assert.equal(await tab.locator('#sessionList .session-item').count(), 0);
  assert.equal((await call(tab, `/api/session?session_id=${theirs}`)).status, 404);

  const run = await send(tab, 'bob', 'Only for bob');
  assert.equal(run.headers.authorization, `Bearer ${of.bob.key}`);
  run.say('For bob alone.');
  run.complete();
  await idle(tab);
  await page.reload();
  await booted(page);
  assert.equal(await page.getByText('bob').count(), 0);
  const sessions = (await call(page, '/api/sessions')).text;
  assert.ok(!sessions.includes('Only for bob'));
  for (const { gateway } of slots) assert.equal(gateway.refused, 0);
  await other.close();
});

test('two share a browser: nothing of the first is left for the second', async () => {
  const shared = await newContext();
  const tab = await shared.newPage();
  await signIn(tab, 'alice');
  await tab.evaluate(() => navigator.serviceWorker.ready);
  await tab.evaluate(() => localStorage.setItem('left-by', 'alice'));
  await tab.goto(`${hux.console}/hux/api/ui/sign-out`);
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.waitForURL((url) => url.pathname === '/hux/api/ui/signed-out');
  await signIn(tab, 'bob');
  assert.equal(await tab.evaluate(() => localStorage.getItem('left-by')), null);
  assert.equal(await tab.getByText('The tide rises at noon.').count(), 0);
  const cached = await tab.evaluate(async () => {
    let text = '';
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const key of await cache.keys()) text += await (await cache.match(key))?.text();
    }
    return text;
  });
  const alice = JSON.parse((await call(page, '/hux/api/me')).text).user;
  assert.ok(!cached.includes(alice));
  await shared.close();
});

test('a slot that goes down says so, and the page comes back by itself', async (t) => {
  await of.alice.slot.stop();
  t.after(() => of.alice.slot.start());
  const tab = await context.newPage();
  await until(async () => {
    await tab.goto(`${hux.chat}/`);
    return (await tab.title()).includes('not answering');
  }, { what: 'the page of a slot that is down', timeout: 15_000 });
  const answer = await tab.evaluate(async () => {
    const r = await fetch('/api/sessions');
    return { status: r.status, retry: r.headers.get('Retry-After'), type: r.headers.get('Content-Type') ?? '' };
  });
  assert.ok(answer.status === 502 || answer.status === 503, String(answer.status));
  assert.ok(answer.retry, 'Retry-After');
  assert.match(answer.type, /json/);
  await tab.screenshot({ path: `${screenshots}/slot-down.png` });
  await of.alice.slot.start();
  await booted(tab, 60_000);
  await tab.close();
  await page.reload();
  await booted(page);
});

test("the WebUI's own sign-out ends at ours", async () => {
  const answer = await call(page, '/api/auth/logout', {});
  assert.equal(answer.status, 200);
  assert.match(JSON.parse(answer.text).trusted_logout_url, /\/hux\/api\/ui\/sign-out$/);
});
