// One sign-in for both origins, and no sign-in page in a frame.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '../lib/hux.mjs';
import { demo, fillSignIn, openPanel, picture, signedIn, whoAmI } from './support.mjs';

const running = demo();

test('signing in for the chat signs in on the console too', async () => {
  const { hux, browser } = running;
  const context = await browser.newContext();
  const page = await context.newPage();

  await page.goto(`${hux.chat}/session/abc?x=1`);
  const provider = new URL(page.url()).origin;
  assert.notEqual(provider, hux.chat);
  assert.notEqual(provider, hux.console);
  await picture(page, 'sign-in-provider');
  const [landed] = await Promise.all([
    page.waitForResponse((r) => r.request().isNavigationRequest() && r.status() === 200 && r.url().startsWith(hux.chat)),
    fillSignIn(page, 'alice'),
  ]);
  assert.equal(landed.url(), `${hux.chat}/session/abc?x=1`, 'the address that was asked for is kept');
  await page.waitForSelector('header.app-titlebar');
  await picture(page, 'sign-in-chat');

  // Nothing but the console itself may be loaded on the way to it.
  const console_ = await context.newPage();
  /** @type {string[]} */
  const documents = [];
  console_.on('request', (r) => { if (r.isNavigationRequest()) documents.push(new URL(r.url()).origin); });
  await console_.goto(`${hux.console}/`);
  await console_.waitForSelector('[data-me][aria-busy="false"]');
  assert.equal(new URL(console_.url()).pathname, '/hux/api/ui/');
  assert.deepEqual([...new Set(documents)], [hux.console]);
  assert.equal(await console_.textContent('[data-connection]'), 'Connected');
  assert.equal(await whoAmI(console_), await whoAmI(page));

  const cookies = await context.cookies([hux.chat, hux.console]);
  const ours = cookies.filter((c) => /hux_(chat|console)$/.test(c.name));
  assert.deepEqual(ours.map((c) => c.domain).sort(), ['chat.hux.localhost', 'console.hux.localhost']);
  for (const cookie of ours) {
    assert.ok(cookie.httpOnly, `${cookie.name} is HttpOnly`);
    assert.equal(cookie.sameSite, 'Lax');
    assert.match(cookie.name, /^__Host-/);
  }
  assert.notEqual(ours[0]?.value, ours[1]?.value, 'each origin has a cookie of its own');
  await context.close();
});

test('the WebUI’s own sign-in addresses lead to ours', async () => {
  const { hux, browser } = running;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${hux.chat}/login?next=/session/xyz`);
  await Promise.all([
    page.waitForResponse(`${hux.chat}/session/xyz`),
    fillSignIn(page, 'bob'),
  ]);
  await context.close();
});

test('what is no navigation is told 401 when signed out', async () => {
  const { hux } = running;
  for (const [path, headers] of /** @type {[string, Record<string, string>][]} */ ([
    ['/api/sessions', { Accept: 'application/json', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' }],
    ['/api/sessions/events', { Accept: 'text/event-stream' }],
    ['/sw.js', { 'Sec-Fetch-Mode': 'same-origin', 'Sec-Fetch-Dest': 'serviceworker' }],
    ['/manifest.json', { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'manifest' }],
    ['/hux/api/me', {}],
  ])) {
    const answer = await request(hux.chat + path, { headers });
    assert.equal(answer.status, 401, path);
    assert.match(answer.headers['content-type'] ?? '', /json/, path);
  }
});

// A worker that passes a navigation on makes Sec-Fetch-Dest "empty" of
// "document", and keeps the Sec-Fetch-Site of the sign-in that led here.
test('a page that the service worker fetches is a navigation like any other', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  await page.evaluate(() => navigator.serviceWorker.ready);
  const reloaded = await page.reload();
  assert.ok(reloaded?.fromServiceWorker());
  assert.equal(reloaded?.status(), 200);
  await page.waitForSelector('header.app-titlebar .hux-button');

  await page.context().clearCookies();
  await page.reload();
  await fillSignIn(page, 'alice');
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('header.app-titlebar');
  await page.context().close();
});

test('no sign-in page can be framed', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  for (const path of ['/hux/auth/sign-in?next=/', '/hux/api/ui/', '/hux/api/ui/sign-out', '/hux/api/ui/status']) {
    const framed = await request(hux.console + path, {
      headers: { 'Sec-Fetch-Dest': 'iframe', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'same-site' },
    });
    const refuses =
      framed.status >= 400 || /frame-ancestors 'none'/.test(String(framed.headers['content-security-policy']));
    assert.ok(refuses && framed.status !== 302, `${path} in a frame: ${framed.status}`);
  }

  // Signed out on the console alone, the panel offers a way at the top, and
  // goes nowhere itself.
  await page.context().clearCookies({ domain: 'console.hux.localhost' });
  const frame = await openPanel(page, hux.console);
  await frame.waitForSelector('[data-signed-out]:not([hidden])');
  assert.equal(await frame.isVisible('form[action="/hux/auth/sign-out"]'), false);
  await picture(page, 'panel-signed-out');
  await frame.click('[data-signed-out] a');
  await page.waitForSelector('.hux-panel', { state: 'detached' });
  await page.waitForSelector('header.app-titlebar .hux-button');
  assert.equal(new URL(page.url()).origin, hux.chat);
  const back = await openPanel(page, hux.console);
  assert.equal(await whoAmI(back), await whoAmI(page));
  await page.context().close();
});
