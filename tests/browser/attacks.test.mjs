// What a script in the WebUI's page, or a service worker that it left, tries
// against sign-in and sign-out.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { launchChromium } from '../lib/chromium.mjs';
import { startHux, until } from '../lib/hux.mjs';
import { startProvider } from '../lib/provider.mjs';
import { startHostile, takeover } from './hostile.mjs';
import { picture, whoAmI } from './support.mjs';

/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */

// A flow of the attacker's choice: its hash goes into a link, and whoever has
// the flow itself could redeem what is handed over to it.
const flow = createHash('sha256').update('A'.repeat(26)).digest('hex');

/** @type {Awaited<ReturnType<typeof startProvider>>} */
let provider;
/** @type {import('../lib/hux.mjs').Hux} */
let hux;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {import('./hostile.mjs').Hostile[]} */
const slots = [];

before(async () => {
  const clientSecret = randomBytes(16).toString('hex');
  provider = await startProvider({ clientID: 'hux', clientSecret, people: { alice: [], bob: [] } });
  slots.push(await startHostile('one', takeover({ console: () => hux.console, flow })), await startHostile('two'));
  hux = await startHux({
    command: 'serve',
    config: {
      public_url: 'http://chat.hux.localhost:PORT',
      console_url: 'http://console.hux.localhost:PORT',
      oidc_issuer: provider.issuer,
      oidc_client_id: provider.clientID,
      slots: slots.map(({ url }, i) => ({ id: ['one', 'two'][i], url })), // alice is the first to come
    },
    env: { HUX_KEY: randomBytes(32).toString('base64'), HUX_OIDC_CLIENT_SECRET: clientSecret },
  });
  browser = await launchChromium();
  const { page } = await signIn('alice');
  await page.context().close();
});

after(async () => {
  await browser?.close();
  await hux?.stop();
  for (const slot of slots) await slot.close();
  await provider?.close();
});

/**
 * Signs somebody in at the chat and waits for the WebUI.
 *
 * @param {'alice' | 'bob'} name
 * @param {BrowserContext} [context]  a new one by default
 */
async function signIn(name, context) {
  context ??= await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${hux.chat}/`);
  await page.getByRole('link', { name }).click();
  await page.getByRole('heading', { name: name === 'alice' ? 'WebUI of one' : 'WebUI of two' }).waitFor();
  return { context, page };
}

/**
 * Leaves something wherever a page can, the worker included.
 *
 * @param {Page} page
 */
async function plant(page) {
  await page.evaluate(async () => {
    localStorage.setItem('planted', 'by alice');
    await (await caches.open('planted')).put('/planted', new Response('by alice'));
    await navigator.serviceWorker.ready;
  });
  await until(() => page.evaluate(() => navigator.serviceWorker.controller !== null), { what: 'the worker has the page' });
}

/**
 * What is left on the chat origin, as a page of ours there sees it.
 *
 * @param {BrowserContext} context
 */
async function left(context) {
  const page = await context.newPage();
  await page.goto(`${hux.chat}/hux/auth/failed`);
  const found = await page.evaluate(async () => ({
    storage: localStorage.length,
    caches: await caches.keys(),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
  }));
  await page.close();
  return found;
}

const nothing = { storage: 0, caches: [], workers: 0 };

test('a script reads no code of a hand-over, whatever it does to the request', async () => {
  const { page } = await signIn('alice');
  const read = await page.evaluate(async ({ origin, hash }) => {
    // Cookies beyond what a server reads, so that the answer is no redirect.
    for (let i = 0; i < 25; i++) document.cookie = `b${i}=${'x'.repeat(3900)}; Path=/hux/auth/accept; Secure`;
    const opened = window.open(`${origin}/hux/auth/sign-in?flow=${hash}&next=/`);
    /** @type {string[]} */
    const urls = [];
    for (let i = 0; i < 60; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      try {
        if (opened?.location.href) urls.push(opened.location.href);
      } catch {
        // It is at another origin.
      }
    }
    return { opened: opened !== null, closed: opened?.closed, urls, cookies: document.cookie };
  }, { origin: hux.console, hash: flow });
  assert.ok(read.opened);
  assert.deepEqual([...new Set(read.urls)].filter((url) => url.includes('/hux/auth/')), []);
  assert.equal(read.closed, true, 'the window is none of the script’s any more');
  assert.ok(!read.cookies.includes('hux_'), read.cookies);
  await page.context().close();
});

test('a worker cannot keep a sign-out from the chat origin', async () => {
  const { context, page } = await signIn('alice');
  await plant(page);
  await page.goto(`${hux.console}/hux/api/ui/sign-out`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  assert.deepEqual(await left(context), nothing);
  await context.close();
});

test('a worker cannot keep the next user out, nor learn of them', async () => {
  const { context, page } = await signIn('alice');
  await plant(page);
  // The session ends, and the browser's chat origin hears nothing of it.
  const console_ = await context.newPage();
  await console_.goto(`${hux.console}/`);
  assert.equal(await console_.evaluate(async () => (await fetch('/hux/api/sessions/end', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}',
  })).status), 204);
  await console_.close();
  await page.close();
  slots[0].seen().length = 0;

  const tab = await context.newPage();
  await tab.goto(`${hux.chat}/`); // the worker begins the sign-in, in its way
  await tab.getByRole('link', { name: 'bob' }).click();
  await tab.getByRole('link', { name: 'Begin again' }).click();
  await tab.getByRole('heading', { name: 'WebUI of two' }).waitFor();
  assert.deepEqual(slots[0].seen().filter((url) => url !== `${hux.chat}/`), [], 'what the worker saw');
  assert.deepEqual(await left(context), nothing);
  await context.close();
});

test('a page cannot make the browser forget that another was here', async () => {
  const { context, page } = await signIn('alice');
  await plant(page);
  await until(async () => {
    await page.evaluate(() => { // more cookies than a browser keeps for a site
      for (let round = 0; round < 2; round++) {
        for (let i = 0; i < 200; i++) document.cookie = `e${i}=1; Path=/elsewhere; Secure`;
      }
      for (let i = 0; i < 200; i++) document.cookie = `e${i}=; Path=/elsewhere; Secure; Max-Age=0`;
    });
    return (await context.cookies([hux.console, hux.chat])).every((c) => !c.name.includes('hux_'));
  }, { what: 'our cookies are pushed out' });
  await page.close();
  // The worker would begin the sign-in; here it is the attack on the mark that counts.
  const tab = await context.newPage();
  await tab.goto(`${hux.console}/hux/auth/sign-in?next=/hux/api/ui/`);
  await tab.getByRole('link', { name: 'bob' }).click();
  await tab.waitForURL(`${hux.console}/hux/api/ui/`);
  assert.deepEqual(await left(context), nothing);
  await tab.goto(`${hux.chat}/`);
  await tab.getByRole('heading', { name: 'WebUI of two' }).waitFor();
  await context.close();
});

test('a sign-out without the console’s cookie ends the chat’s session all the same', async () => {
  const { context, page } = await signIn('alice');
  await context.clearCookies({ name: '__Host-hux_console' });
  const tab = await context.newPage();
  await tab.goto(`${hux.console}/hux/api/ui/sign-out`);
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  assert.equal(await whoAmI(page), 401);
  await context.close();
});

test('what could not be cleared is not said to be', async () => {
  const { context, page } = await signIn('alice');
  await context.route('**/hux/auth/clear', (route) => route.abort());
  const tab = await context.newPage();
  await tab.goto(`${hux.console}/hux/api/ui/sign-out`);
  await context.clearCookies({ name: '__Host-hux_console' });
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.getByRole('alert').filter({ hasText: 'may still be signed in' }).waitFor();
  await picture(tab, 'sign-out-not-cleared');
  assert.match(String(await whoAmI(page)), /^usr_/);
  await tab.getByRole('link', { name: 'Go on' }).click();
  await tab.getByRole('heading', { name: 'Maybe not signed out' }).waitFor();
  await context.unroute('**/hux/auth/clear');
  await tab.goto(`${hux.console}/hux/api/ui/sign-out`);
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  assert.equal(await whoAmI(page), 401);
  await context.close();

  // Without scripts nobody's chat opens.
  const plain = await browser.newContext({ javaScriptEnabled: false });
  const still = await plain.newPage();
  await still.goto(`${hux.chat}/`);
  await still.getByRole('link', { name: 'bob' }).click();
  await still.getByRole('heading', { name: 'Getting your chat ready' }).waitFor();
  const html = await still.content(); // such a browser shows what is in noscript, but not under test
  assert.ok(html.includes('The chat needs JavaScript') && !html.includes('Go on'), html);
  await plain.close();
});
