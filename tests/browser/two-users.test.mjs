// Alice, then Bob, in one browser: nothing of hers is in his pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { demo, fillSignIn, openPanel, picture, signedIn, whoAmI } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

const running = demo();

/**
 * Everything that the page's origin has put by.
 *
 * @param {Page} page
 */
const putBy = (page) => page.evaluate(async () => {
  const kept = [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), document.cookie];
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) kept.push(request.url, await (await cache.match(request))?.text() ?? '');
  }
  for (const { name } of await indexedDB.databases()) kept.push(`database ${name}`);
  return kept.join('\n');
});

/**
 * Leaves something of the user's in each place that a page can.
 *
 * @param {Page} page
 * @param {string} mark
 */
async function leave(page, mark) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await page.waitForSelector('header.app-titlebar');
  await page.evaluate(async (text) => {
    localStorage.setItem('left', text);
    await (await caches.open('left')).put('/left', new Response(text));
    await new Promise((resolve, reject) => {
      const open = indexedDB.open(text);
      open.onsuccess = () => { open.result.close(); resolve(undefined); };
      open.onerror = () => reject(open.error);
    });
  }, mark);
}

/**
 * Checks that Bob's page, and what his browser sends and keeps, has nothing of
 * Alice's.
 *
 * @param {Page} page
 * @param {{mark: string, id: string, cookies: string[]}} alice
 */
async function nothingOf(page, alice) {
  const { hux } = running;
  const foreign = [alice.mark, alice.id];
  const kept = await putBy(page);
  const html = await page.content();
  for (const text of foreign) {
    assert.ok(!kept.includes(text), `${text} is still put by:\n${kept.slice(0, 500)}`);
    assert.ok(!html.includes(text), `${text} is in the page`);
  }
  const left = async () =>
    (await page.context().cookies(hux.chat)).filter((c) => alice.cookies.includes(c.value)).map((c) => c.name);
  await until(async () => (await left()).length === 0, { what: 'no cookie of Alice’s is left' }).catch(async (error) => {
    throw new Error(`left: ${await left()}`, { cause: error });
  });
}

/** @param {Page} page */
async function portrait(page) {
  const { hux } = running;
  return {
    mark: 'left-by-alice',
    id: String(await whoAmI(page)),
    cookies: (await page.context().cookies(hux.chat)).map((c) => c.value),
  };
}

test('after a sign-out', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  await leave(page, 'left-by-alice');
  const alice = await portrait(page);
  const frame = await openPanel(page, hux.console);
  await frame.click('button:has-text("Sign out")');
  await page.waitForURL(`${hux.console}/hux/api/ui/signed-out`);

  await page.goto(`${hux.chat}/`);
  await fillSignIn(page, 'bob');
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('header.app-titlebar');
  assert.notEqual(await whoAmI(page), alice.id);
  await nothingOf(page, alice);
  await picture(page, 'two-users-bob');
  await page.context().close();
});

test('after a session that just ended', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const context = page.context();
  await leave(page, 'left-by-alice');
  const alice = await portrait(page);

  // Ended elsewhere: this browser's chat origin hears nothing of it.
  const console_ = await context.newPage();
  await console_.goto(`${hux.console}/`);
  const ended = await console_.evaluate(async () => (await fetch('/hux/api/sessions/end', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  })).status);
  assert.equal(ended, 204);
  await console_.close();
  // The provider's own session is over too.
  for (const cookie of await context.cookies()) {
    if (!/(chat|console)\.hux\.localhost$/.test(cookie.domain)) await context.clearCookies({ name: cookie.name, domain: cookie.domain });
  }

  await page.goto(`${hux.chat}/`);
  await fillSignIn(page, 'bob');
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('header.app-titlebar');
  assert.notEqual(await whoAmI(page), alice.id);
  await nothingOf(page, alice);
  await context.close();
});

test('the offline shell is the WebUI’s and the user’s own', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const context = page.context();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.goto(`${hux.chat}/session/one`);
  await page.waitForSelector('header.app-titlebar');
  assert.ok(await page.evaluate(() => navigator.serviceWorker.controller !== null));
  const alice = String(await whoAmI(page));

  // Pages of ours, also on the chat origin, are not for the worker to keep.
  for (const url of [`${hux.console}/`, `${hux.console}/hux/api/ui/signed-out`, `${hux.chat}/hux/api/ui/`, `${hux.chat}/hux/api/me`]) {
    await page.goto(url);
  }
  await context.setOffline(true);
  await page.goto(`${hux.chat}/session/two`);
  await page.waitForSelector('header.app-titlebar');
  assert.equal(await page.locator('[data-me]').count(), 0);
  await picture(page, 'offline-shell');
  await context.setOffline(false);

  await page.goto(`${hux.chat}/`);
  const frame = await openPanel(page, hux.console);
  await frame.click('button:has-text("Sign out")');
  await page.waitForURL(`${hux.console}/hux/api/ui/signed-out`);

  // Signed out and offline there is no shell at all.
  await context.setOffline(true);
  const offline = await page.goto(`${hux.chat}/session/three`).catch((error) => error);
  assert.ok(offline instanceof Error, 'an ended session has no offline shell');
  await context.setOffline(false);

  await page.goto(`${hux.chat}/`);
  await fillSignIn(page, 'bob');
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('header.app-titlebar');
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await context.setOffline(true);
  await page.goto(`${hux.chat}/session/four`);
  await page.waitForSelector('header.app-titlebar');
  assert.ok(!(await page.content()).includes(alice));
  await context.close();
});
