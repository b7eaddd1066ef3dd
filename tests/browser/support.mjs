// What the browser tests share: a running demo, a browser, signing in, pictures.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launchChromium } from '../lib/chromium.mjs';
import { request, startHux, until } from '../lib/hux.mjs';

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Frame} Frame */

const pictures = process.env.HUX_SCREENSHOTS || fileURLToPath(new URL('screenshots', import.meta.url));

/**
 * Takes a picture of what page shows, for people to look at.
 *
 * @param {Page} page
 * @param {string} name
 */
export async function picture(page, name) {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), animations: 'disabled' });
}

/**
 * Runs a demo and a browser for the tests of one file.
 *
 * @returns {{hux: import('../lib/hux.mjs').Hux, browser: Browser}} filled before the first test
 */
export function demo() {
  const running = /** @type {{hux: import('../lib/hux.mjs').Hux, browser: Browser}} */ ({});
  before(async () => {
    running.browser = await launchChromium();
    running.hux = await startHux({ command: 'demo', args: ['--verbose'] });
  });
  after(async () => {
    await running.browser?.close();
    await running.hux?.stop();
  });
  return running;
}

/**
 * Signs in on the provider's page, which page must show.
 *
 * @param {Page} page
 * @param {string} name  of a demo user; the password is the same
 */
export async function fillSignIn(page, name) {
  await page.fill('input#username', name);
  await page.fill('input#password', name);
  await page.click('#typed button[type=submit]');
}

/**
 * Opens the chat in a new context, signs in and waits for the WebUI.
 *
 * @param {{hux: import('../lib/hux.mjs').Hux, browser: Browser}} running
 * @param {string} name
 * @param {import('playwright-core').BrowserContextOptions} [options]
 * @returns {Promise<Page>}
 */
export async function signedIn({ hux, browser }, name, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(`${hux.chat}/`);
  await fillSignIn(page, name);
  await page.waitForURL(`${hux.chat}/**`);
  await page.waitForSelector('header.app-titlebar');
  return page;
}

/**
 * Opens the panel with the bridge's button and waits for one of its tabs.
 *
 * @param {Page} page
 * @param {string} origin  of the console
 * @param {'Activity' | 'You'} [tab]
 * @returns {Promise<Frame>}
 */
export async function openPanel(page, origin, tab = 'You') {
  await page.click('.hux-button');
  const frame = await until(
    () => page.frames().find((f) => f.url() === `${origin}/hux/api/ui/panel`),
    { what: 'the panel is framed' },
  );
  await page.waitForSelector('.hux-frame:not(.hux-waiting)');
  await frame.waitForSelector('[data-me][aria-busy="false"]', { state: 'attached' });
  if (await frame.isVisible('[data-signed-out]') === false) await frame.click(`[role="tab"]:has-text("${tab}")`);
  return frame;
}

/**
 * Who the page's origin says is signed in: the user's id, or the status of
 * the refusal.
 *
 * @param {Page | Frame} page
 * @returns {Promise<string | number>}
 */
export function whoAmI(page) {
  return page.evaluate(async () => {
    const answer = await fetch('/hux/api/me', { cache: 'no-store' });
    return answer.ok ? (await answer.json()).user : answer.status;
  });
}

/**
 * Stops or starts the demo's stand-in WebUI of a slot.
 *
 * @param {import('../lib/hux.mjs').Hux} hux
 * @param {string} slot
 * @param {boolean} up
 */
export async function setSlot(hux, slot, up) {
  const answer = await request(`${hux.api}/demo/slot?id=${slot}&up=${up}`, { method: 'POST' });
  if (answer.status >= 300) throw new Error(`/demo/slot: ${answer.status} ${answer.text}`);
}
