// Everything that the tests of hux with Keycloak need: Keycloak, two WebUIs,
// `hux serve` before them, and Chromium.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchChromium } from '../lib/chromium.mjs';
import { freePort, huxBinary, request, startHux, until } from '../lib/hux.mjs';
import { startKeycloak } from './keycloak.mjs';
import { fillIn } from './tokens.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @typedef {object} Setup
 * @property {import('./keycloak.mjs').Keycloak} keycloak
 * @property {import('../lib/hux.mjs').Hux} hux
 * @property {import('playwright-core').Browser} browser
 * @property {Record<string, unknown>} config  what hux was configured with
 * @property {(name: string, labels: string) => Promise<number>} metric  a counter of hux; 0 if it has not counted yet
 * @property {() => Promise<void>} stop
 */

/**
 * Starts it all. hux has a pool of two slots, and takes bearer tokens of
 * hux-worker and of its own client.
 *
 * @param {(text: string) => void} say
 * @returns {Promise<Setup>}
 */
export async function startAll(say) {
  /** @type {(() => unknown)[]} */
  const stops = [];
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const [port, metricsPort] = [await freePort(), await freePort()];
    const starting = startKeycloak({
      consoleURL: `http://console.hux.localhost:${port}`, internalURL: `http://127.0.0.1:${port}`, say,
    });
    stops.push(async () => (await starting).stop());
    // Built and started while Keycloak is on its way.
    const standin = join(root, 'tests', '.build', 'standin');
    execFileSync('go', ['build', '-o', standin, './tests/standin'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    huxBinary();
    const slots = [];
    for (const id of ['one', 'two']) {
      const slot = await startStandin(standin, id);
      stops.push(slot.stop);
      slots.push({ id, url: slot.url });
    }
    const browser = await launchChromium();
    stops.push(() => browser.close());
    const keycloak = await starting;
    const config = {
      public_url: 'http://chat.hux.localhost:PORT',
      console_url: 'http://console.hux.localhost:PORT',
      metrics_listen: `127.0.0.1:${metricsPort}`,
      key: randomBytes(32).toString('base64'),
      flags: ['hux.foundation'],
      oidc_issuer: keycloak.issuer,
      oidc_internal_url: keycloak.internal,
      oidc_client_secret: await keycloak.admin.secret('hux'),
      oidc_bearer_clients: ['hux-worker', 'hux'],
      slots,
    };
    const hux = await startHux({ command: 'serve', port, config });
    stops.push(hux.stop);

    const metric = async (/** @type {string} */ name, /** @type {string} */ labels) => {
      const { text } = await request(`http://127.0.0.1:${metricsPort}/metrics`);
      const line = text.split('\n').find((each) => each.startsWith(`${name}{${labels}} `));
      return line ? Number(line.split(' ')[1]) : 0;
    };
    return { keycloak, hux, browser, config, metric, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param {string} binary @param {string} title */
async function startStandin(binary, title) {
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = spawn(binary, ['-listen', new URL(url).host, '-header', 'X-Hux-User', '-title', title], { stdio: 'inherit' });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill();
    await exited;
  };
  process.once('exit', () => child.kill());
  await until(async () => (await request(`${url}/health`)).status === 200, { what: `the WebUI of slot ${title}` });
  return { url, stop };
}

/**
 * Signs a user in with a browser of their own, beginning at the chat.
 *
 * @param {Setup} setup
 * @param {string} username
 * @returns {Promise<{page: import('playwright-core').Page, context: import('playwright-core').BrowserContext}>}
 *   the page after sign-in, back on the chat
 */
export async function signIn({ browser, hux, keycloak }, username) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${hux.chat}/`);
  if (!page.url().startsWith(`${keycloak.issuer}/`)) throw new Error(`no sign-in page, but ${page.url()}`);
  await fillIn(page, username);
  await page.waitForURL(`${hux.chat}/**`);
  return { page, context };
}

/**
 * Asks hux with the cookies that a browser has for the host of url.
 *
 * @param {import('playwright-core').BrowserContext} context
 * @param {string} url
 */
export async function ask(context, url) {
  return request(url, { headers: { Accept: 'application/json', ...(await cookies(context, url)) } });
}

/**
 * Opens an event stream with a browser's cookies.
 *
 * @param {import('playwright-core').BrowserContext} context
 * @param {string} url
 * @returns {Promise<{ended: () => boolean, close: () => void}>} once its answer has begun
 */
export async function openStream(context, url) {
  const target = new URL(url);
  const headers = { Host: target.host, Accept: 'text/event-stream', ...(await cookies(context, url)) };
  return new Promise((resolve, reject) => {
    let ended = false;
    const req = http.get({ host: '127.0.0.1', port: target.port, path: target.pathname, headers, agent: false }, (res) => {
      if (res.statusCode !== 200) reject(new Error(`${url}: ${res.statusCode}`));
      res.on('error', () => {}); // a stream that is cut ends like any other
      res.on('close', () => { ended = true; });
      res.resume();
      resolve({ ended: () => ended, close: () => req.destroy() });
    });
    req.on('error', reject);
  });
}

/**
 * @param {import('playwright-core').BrowserContext} context
 * @param {string} url
 * @returns {Promise<Record<string, string>>}
 */
async function cookies(context, url) {
  const host = new URL(url).hostname;
  const sent = (await context.cookies()).filter(({ domain }) => domain === host).map(({ name, value }) => `${name}=${value}`);
  return sent.length ? { Cookie: sent.join('; ') } : {};
}
