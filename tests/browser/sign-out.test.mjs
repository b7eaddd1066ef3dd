// Sign-out walks both hosts; nothing but a POST of ours signs out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, openPanel, picture, signedIn, whoAmI } from './support.mjs';

const running = demo();

/** @param {import('playwright-core').BrowserContext} context */
const ourCookies = async (context) =>
  (await context.cookies()).filter((c) => /hux_(chat|console)$/.test(c.name)).map((c) => c.name);

test('signing out in the panel ends both origins', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const context = page.context();
  const console_ = await context.newPage();
  await console_.goto(`${hux.console}/`);
  assert.equal((await ourCookies(context)).length, 2);
  await page.evaluate(async () => {
    localStorage.setItem('kept', 'by alice');
    await (await caches.open('kept')).put('/kept', new Response('by alice'));
  });

  const frame = await openPanel(page, hux.console);
  await frame.click('button:has-text("Sign out")');
  await page.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  await page.waitForSelector('h1');
  await picture(page, 'signed-out');
  assert.deepEqual(await ourCookies(context), []);
  assert.equal(await whoAmI(console_), 401);
  assert.equal(await whoAmI(page), 401);

  // The chat's storage and cache are gone, and so is the provider's session.
  await page.goto(`${hux.chat}/hux/api/me`);
  assert.deepEqual(await page.evaluate(async () => [localStorage.length, await caches.keys()]), [0, []]);
  await page.goto(`${hux.chat}/`);
  await page.waitForSelector('input#username');
  await context.close();
});

test('the last page tells when the provider could not be reached', async () => {
  const { hux, browser } = running;
  const page = await browser.newPage();
  await page.goto(`${hux.console}/hux/api/ui/signed-out?provider=unreachable`);
  assert.match((await page.textContent('main')) ?? '', /Your session here is over\. The sign-in provider could not be reached/);
  await picture(page, 'signed-out-unreachable');
  await page.close();
});

test('no GET signs out', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'bob');
  for (const url of [`${hux.console}/hux/auth/sign-out`, `${hux.chat}/hux/auth/sign-out`, `${hux.chat}/hux/auth/end`, `${hux.chat}/logout`]) {
    const other = await page.context().newPage();
    await other.goto(url);
    await other.close();
    assert.match(String(await whoAmI(page)), /^usr_/, url);
  }
  const confirm = await page.context().newPage();
  await confirm.goto(`${hux.console}/hux/api/ui/sign-out`);
  await picture(confirm, 'sign-out-confirm');
  assert.match(String(await whoAmI(page)), /^usr_/);
  await confirm.click('button:has-text("Sign out")');
  await confirm.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  assert.equal(await whoAmI(page), 401);
  await page.context().close();
});
