// The pages that stand in for the WebUI: no slot, and a slot that is down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  await picture(console_, 'console-operator');
  await console_.click('[data-operators]');
  await console_.waitForSelector('[data-slots] .pill');
  assert.match((await console_.textContent('[data-slots]')) ?? '', /alice/);
  assert.equal(await console_.textContent('[data-fact="provider"]'), 'Ready');
  await picture(console_, 'status');
  await console_.setViewportSize({ width: 390, height: 844 });
  await picture(console_, 'status-phone');
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
