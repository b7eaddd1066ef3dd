// The pages that stand in for the WebUI: no slot, and a slot that is down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { demo, fillSignIn, openPanel, picture, setSlot, signedIn, whoAmI } from './support.mjs';

const running = demo();

test('a user without a slot sees why and what to do', async () => {
  const { hux, browser } = running;
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  await page.goto(`${hux.chat}/`);
  await fillSignIn(page, 'olga');
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('[data-waiting="slot"]');
  await page.waitForSelector('[data-id]:not([hidden])');
  assert.equal(await page.textContent('[data-fact="user"]'), await whoAmI(page));
  assert.match((await page.textContent('main')) ?? '', /No chat is assigned to you\./);
  assert.equal(await page.isVisible('a:has-text("Open console")'), true, 'she is an operator');
  await picture(page, 'no-slot-phone');

  const refused = await page.evaluate(async () => {
    const answer = await fetch('/api/sessions');
    return [answer.status, (await answer.json()).code];
  });
  assert.deepEqual(refused, [503, 'no_slot']);

  // Olga operates the router: the console and its status page are hers.
  const console_ = await context.newPage();
  await console_.setViewportSize({ width: 1280, height: 800 });
  await console_.goto(`${hux.console}/`);
  await console_.waitForSelector('[data-operators]:not([hidden])');
  await console_.waitForSelector('[data-notice]:has-text("You need none to operate")');
  await picture(console_, 'console-operator');
  await console_.click('[data-operators]');
  await console_.waitForSelector('[data-slots] .pill');
  assert.match((await console_.textContent('[data-slots]')) ?? '', /alice/);
  assert.equal(await console_.textContent('[data-fact="provider"]'), 'Ready');
  assert.match((await console_.textContent('[data-list="features"]')) ?? '', /hux\.foundation/);
  await until(() => /"self-check done","slots":2/.test(hux.log()), { what: 'the self-check' });
  await console_.reload();
  await console_.waitForSelector('[data-slots] .pill[data-state="up"]');
  assert.equal(await console_.textContent('[data-list="findings"]'), 'Nothing is off.', 'the stand-in is as expected');
  await picture(console_, 'status');
  await console_.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: hux.console });
  const copies = console_.locator('[data-slots] button');
  assert.equal(await copies.count(), 4, 'the tenant and the member of two slots');
  await copies.first().click();
  assert.match(await console_.evaluate(() => navigator.clipboard.readText()), /^ten_[0-9a-f]{32}$/);
  await console_.setViewportSize({ width: 390, height: 844 });
  assert.ok(await console_.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  const region = console_.locator('.scroll');
  assert.ok(await region.evaluate((table) => table.scrollWidth <= table.clientWidth), 'the table fits a phone');
  await region.scrollIntoViewIfNeeded();
  await picture(console_, 'status-phone');
  await context.close();
});

test('a program is told that the chat is for people', async () => {
  const { hux, browser } = running;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${hux.chat}/`);
  assert.deepEqual(await page.locator('[data-person]').evaluateAll((all) => all.map((e) => e.getAttribute('data-person'))), ['alice', 'bob', 'olga']);
  await fillSignIn(page, 'worker');
  await page.waitForSelector('h1:has-text("This account is for programs")');
  await picture(page, 'program');
  await page.goto(`${hux.console}/`);
  await page.waitForSelector('[data-notice]:has-text("This account is for programs")');
  await page.goto(`${hux.chat}/`);
  await page.click('a:has-text("Sign out")');
  await page.click('button:has-text("Sign out")');
  await page.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  await context.close();
});

test('the status page is not for everybody', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const answer = await page.goto(`${hux.console}/hux/api/ui/status`);
  assert.equal(answer?.status(), 403);
  await page.waitForSelector('h1:has-text("Not allowed")');
  await picture(page, 'not-allowed');
  await page.context().close();
});

test('a slot that is down shows a page that comes back by itself', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const other = await signedIn(running, 'bob');
  /** @type {Promise<import('playwright-core').Response>} */
  let returned;
  await setSlot(hux, 'alice', false);
  try {
    const answer = await page.goto(`${hux.chat}/session/abc`);
    assert.ok([502, 503, 504].includes(answer?.status() ?? 0), `status ${answer?.status()}`);
    await page.waitForSelector('[data-waiting="up"]');
    await page.waitForSelector('[data-progress]:has-text("Not yet")');
    await picture(page, 'slot-down');
    returned = page.waitForResponse((r) => r.request().isNavigationRequest() && r.status() === 200, { timeout: 60_000 });
    const api = await page.evaluate(async () => {
      const refused = await fetch('/api/sessions');
      return { status: refused.status, type: refused.headers.get('content-type'), retry: refused.headers.get('retry-after') };
    });
    assert.ok([502, 503, 504].includes(api.status));
    assert.match(api.type ?? '', /json/);
    assert.ok(Number(api.retry) > 0);

    // Bob's is another slot.
    const reload = await other.reload();
    assert.equal(reload?.status(), 200);
    await other.waitForSelector('header.app-titlebar');
  } finally {
    await setSlot(hux, 'alice', true);
  }
  const back = await returned;
  assert.equal(back.url(), `${hux.chat}/session/abc`, 'the same address as before');
  await page.waitForSelector('header.app-titlebar');
  await page.context().close();
  await other.context().close();
});

test('the panel of an open page tells that the slot went down', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  await setSlot(hux, 'alice', false);
  try {
    await page.evaluate(() => fetch('/api/sessions')); // what notices it first
    const frame = await openPanel(page, hux.console);
    await frame.waitForSelector('[data-slot-state]:has-text("Not answering")', { timeout: 30_000 });
    await page.waitForSelector('.hux-dot[data-state="slot-down"]', { timeout: 40_000 });
    await picture(page, 'panel-slot-down');
  } finally {
    await setSlot(hux, 'alice', true);
  }
  await page.context().close();
});
