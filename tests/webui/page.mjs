// What the tests do with a page of the WebUI and wait for in it.
/// <reference lib="dom" />
/// <reference path="./webui.d.ts" />
import { until } from '../lib/hux.mjs';

/** @typedef {import('playwright-core').Page} Tab */

/** Waits until the page of the WebUI works. */
export const booted = (/** @type {Tab} */ tab, timeout = 20_000) =>
  tab.waitForFunction(() => typeof S !== 'undefined' && S._bootReady, null, { timeout });

/** Waits until no turn runs. */
export const idle = (/** @type {Tab} */ tab) => tab.waitForFunction(() => !S.busy && !S.activeStreamId);

/** The id of the open conversation. */
export const sessionOf = (/** @type {Tab} */ tab) => tab.evaluate(() => S.session.session_id);

/** Fails when the promise takes too long, so that a run which never starts is told as such. */
export const soon = (/** @type {Promise<any>} */ promise, /** @type {string} */ what) => {
  /** @type {NodeJS.Timeout} */
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${what}: not within 20 s`)), 20_000); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/** Waits until the transcript shows a text. */
export const shown = (/** @type {Tab} */ tab, /** @type {string} */ text) =>
  tab.waitForFunction((wanted) => document.querySelector('#messages')?.textContent?.includes(wanted), text, { timeout: 20_000 });

/** Answers of the agent as the page shows them. */
export const answers = (/** @type {Tab} */ tab) => tab.locator('.assistant-turn').allInnerTexts();

/** Waits until the last answer matches: the page draws it anew when the turn is over. */
export const answered = (/** @type {Tab} */ tab, /** @type {RegExp} */ wanted) =>
  until(async () => wanted.test((await answers(tab)).at(-1) ?? ''), { what: `the answer ${wanted}` });

/** Calls the server from a page's script: a POST if there is a body. */
export const call = (/** @type {Tab} */ tab, /** @type {string} */ path, /** @type {object | undefined} */ body = undefined) =>
  tab.evaluate(async ({ path: url, body: json }) => {
    const answer = await fetch(url, json === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) });
    return { status: answer.status, type: answer.headers.get('Content-Type') ?? '', text: await answer.text() };
  }, { path, body });
