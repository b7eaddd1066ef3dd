// One sign-in for both origins, and no sign-in page in a frame.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { freePort, request, startHux } from '../lib/hux.mjs';
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

test('a sign-in that fails says why, and begins again where it was to lead', async () => {
  const { hux, browser } = running;
  const context = await browser.newContext();
  const page = await context.newPage();
  const answer = await page.goto(`${hux.console}/hux/auth/callback?state=another&code=another`);
  assert.equal(answer?.status(), 400);
  assert.equal(answer?.headers()['referrer-policy'], 'no-referrer');
  await picture(page, 'sign-in-failed');
  await page.click('a:has-text("Begin again")');
  await fillSignIn(page, 'alice');
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('header.app-titlebar');

  // As the provider answers when somebody cancels.
  await context.clearCookies();
  await page.goto(`${hux.chat}/session/abc`);
  const cancelled = new URL(page.url());
  const back = new URL(String(cancelled.searchParams.get('redirect_uri')));
  for (const [name, value] of Object.entries({ error: 'access_denied', state: cancelled.searchParams.get('state'), iss: cancelled.origin })) {
    back.searchParams.set(name, String(value));
  }
  await page.goto(back.href);
  await page.waitForSelector('h1:has-text("You were not signed in")');
  assert.equal(await page.getAttribute('a:has-text("Begin again")', 'href'), `${hux.chat}/session/abc`);
  await context.close();
});

test('without a provider the page says so and tries again by itself', async () => {
  const { browser } = running;
  const hux = await startHux({
    command: 'serve',
    config: {
      public_url: 'http://chat.hux.localhost:PORT',
      console_url: 'http://console.hux.localhost:PORT',
      oidc_issuer: `http://127.0.0.1:${await freePort()}`,
      oidc_client_id: 'hux',
      slots: [{ id: 'one', url: `http://127.0.0.1:${await freePort()}` }],
    },
    env: { HUX_KEY: randomBytes(32).toString('base64'), HUX_OIDC_CLIENT_SECRET: 'a-client-secret' },
  });
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
  try {
    const answer = await page.goto(`${hux.chat}/session/abc`);
    assert.equal(answer?.status(), 503);
    await page.waitForSelector('h1:has-text("Signing in does not work right now")');
    assert.equal(await page.getAttribute('meta[http-equiv="refresh"]', 'content'), `15; url=${hux.chat}/session/abc`);
    await picture(page, 'sign-in-unavailable');
    await Promise.all([
      page.waitForResponse((r) => r.url().startsWith(`${hux.console}/hux/auth/sign-in`) && r.status() === 503),
      page.click('a:has-text("Try now")'),
    ]);
  } finally {
    await page.close();
    await hux.stop();
  }
});
