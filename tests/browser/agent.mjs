// An agent of alice's for the tests about autonomy: it asks by the public API,
// with a credential of its own.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { launchChromium } from '../lib/chromium.mjs';
import { huxBinary, request, startHux, until } from '../lib/hux.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Frame} Frame */
/** @typedef {{hux: import('../lib/hux.mjs').Hux, browser: import('playwright-core').Browser, agent: Agent, alice: Api}} Running */

let count = 0;

/** Who asks the API by a bearer token. */
export class Api {
  /**
   * @param {import('../lib/hux.mjs').Hux} hux
   * @param {string} token
   */
  constructor(hux, token) {
    this.hux = hux;
    this.token = token;
  }

  /**
   * @param {string} method
   * @param {string} path  below /hux/v1
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   */
  async send(method, path, body, headers = {}) {
    const answer = await request(`${this.hux.api}/hux/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Idempotency-Key': `test-${++count}` }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: answer.status, body: answer.text === '' ? null : answer.json(), headers: answer.headers };
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>} the answer's body; throws where it is no success
   */
  async must(method, path, body) {
    const answer = await this.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

export class Agent extends Api {
  /**
   * The conversation of a session of the WebUI.
   *
   * @param {string} session
   * @returns {Promise<string>}
   */
  async conversation(session) {
    return (await this.must('POST', '/conversations', { external_ref: { system: 'webui', id: session } })).id;
  }

  /**
   * Starts a run.
   *
   * @param {string} conversation
   * @returns {Promise<string>}
   */
  async run(conversation) {
    const run = `run-${++count}`;
    await this.event(conversation, run, 'run.started', 'started', 'The agent began to work');
    return run;
  }

  /**
   * @param {string} conversation
   * @param {string} run
   * @param {string} kind
   * @param {string} status
   * @param {string} summary
   * @param {Record<string, unknown>} [data]
   */
  event(conversation, run, kind, status, summary, data = {}) {
    return this.must('POST', `/conversations/${conversation}/events`, { kind, status, summary, run_id: run, data });
  }

  /**
   * Asks about a call, as a hook does; a person must be there to decide.
   *
   * @param {string} conversation
   * @param {string} run
   * @param {{tool?: string, args?: Record<string, unknown>, target?: string, summary?: string, seconds?: number}} [call]
   * @returns {Promise<{effect: string, reason: string, approval_id: string, evidence_hash: string}>}
   */
  ask(conversation, run, { tool = 'terminal', args = { command: 'rm -r build/' }, target, summary, seconds = 120 } = {}) {
    const id = createHash('sha256').update(`call ${++count}`).digest('hex').slice(0, 24);
    return this.must('POST', '/decisions', {
      conversation_id: conversation, run_id: run, tool, args, target: target ?? null, tool_call_id: `call_${id}`,
      ...(summary ? { summary } : {}), expires_in_ms: seconds * 1_000,
    });
  }

  /** @param {string} id @returns {Promise<any>} */
  approval(id) {
    return this.must('GET', `/approvals/${id}`);
  }

  /**
   * Waits until an approval is no longer pending.
   *
   * @param {string} id
   * @returns {Promise<any>}
   */
  decided(id) {
    return until(async () => {
      const approval = await this.approval(id);
      return approval.status !== 'pending' && approval;
    }, { what: 'the approval is decided' });
  }

  /**
   * Fails unless nobody decides about an approval for a while.
   *
   * @param {string} id
   * @param {number} [ms]
   */
  async undecided(id, ms = 500) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    const { status } = await this.approval(id);
    if (status !== 'pending') throw new Error(`the approval is ${status}`);
  }
}

/**
 * Runs a demo with an agent of alice's, and a browser, for the tests of a file.
 *
 * @param {string[]} [args]  of the browser
 * @returns {Running} filled before the first test
 */
export function demoWithAgent(args = []) {
  const running = /** @type {Running} */ ({});
  const data = mkdtempSync(join(tmpdir(), 'hux-autonomy-'));
  before(async () => {
    running.browser = await launchChromium({ args });
    const hux = await startHux({ command: 'demo', data });
    running.hux = hux;
    const secret = execFileSync(huxBinary(), ['agents', 'create', 'alice', 'tester'], { env: { ...process.env, HUX_DATA: data }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    running.agent = new Agent(hux, secret.trim());
    running.alice = new Api(hux, (await request(`${hux.api}/demo/token?user=alice`)).text);
  });
  after(async () => {
    await running.browser?.close();
    await running.hux?.stop();
    rmSync(data, { recursive: true, force: true });
  });
  return running;
}

/**
 * Opens a conversation in the WebUI by sending a message, and waits for the end
 * of the answer.
 *
 * @param {Page} page
 * @returns {Promise<string>} the WebUI's id of its session
 */
export async function openSession(page) {
  await page.fill('#msg', 'Now fail, please'); // the shortest of the script's turns
  await page.press('#msg', 'Enter');
  await page.waitForSelector('#btnSend[data-action="send"]', { timeout: 20_000 });
  // @ts-ignore: declared by the WebUI's scripts
  return until(() => page.evaluate(() => S.session?.session_id), { what: 'the session' });
}

/**
 * The bridge's frame over the composer.
 *
 * @param {Page} page
 * @returns {Promise<Frame>}
 */
export function composerFrame(page) {
  return until(() => page.frames().find((frame) => new URL(frame.url()).pathname === '/hux/api/ui/decisions'), { what: 'the frame over the composer' });
}

/**
 * Waits until a card takes a decision; its page is before the others then, since
 * one that is behind has no frames.
 *
 * @param {Page | Frame} view
 * @param {string} id
 */
export async function armed(view, id) {
  await ('page' in view ? view.page() : view).bringToFront();
  const card = `[data-approval="${id}"]`;
  await view.waitForSelector(`${card}[data-guard="armed"]`, { timeout: 30_000 }).catch(async (error) => {
    const guard = await view.getAttribute(card, 'data-guard', { timeout: 1_000 }).catch(() => 'not shown');
    throw new Error(`the card takes no decision: ${guard}`, { cause: error });
  });
}

/**
 * What a press on a card comes to: what the card says of it, or that the card
 * has ended. Fails where the press was lost in silence.
 *
 * @param {Page | Frame} view
 * @param {string} id
 * @param {() => Promise<void>} press
 * @returns {Promise<string>} 'ended', or the words
 */
export async function pressed(view, id, press) {
  const note = `[data-approval="${id}"] .note`;
  await view.$eval(note, (n) => { /** @type {HTMLElement} */ (n).dataset.miss = 'before the press'; }); // gone with the next words
  await press();
  return until(() => view.evaluate((selector) => {
    const said = /** @type {HTMLElement | null} */ (document.querySelector(selector));
    if (!said) return 'ended';
    return said.dataset.miss === 'before the press' ? '' : said.textContent;
  }, note), { what: 'words about a press' });
}

/**
 * Presses one of a card's choices, by default with the mouse, until one press
 * counts. A busy machine may be late with its frames, and then a press does not.
 *
 * @param {Page | Frame} view
 * @param {string} id
 * @param {string} choice
 * @param {'click' | 'tap'} [how]
 */
export async function choose(view, id, choice, how = 'click') {
  const button = view.locator(`[data-approval="${id}"] [data-choice="${choice}"]`);
  for (let n = 0; n < 20; n++) {
    await button.scrollIntoViewIfNeeded();
    await armed(view, id);
    const said = await pressed(view, id, () => button[how]({ force: true }));
    if (!/^Nothing was decided/.test(said)) return;
  }
  throw new Error(`no press on ${choice} counted`);
}
