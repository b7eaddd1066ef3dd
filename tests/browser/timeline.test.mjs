// The activity timeline: it moves with a message, is nobody else's, misses
// nothing over a restart, and is one stream however many tabs show it.
import assert from 'node:assert/strict';
import http from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launchChromium } from '../lib/chromium.mjs';
import { startHux, until } from '../lib/hux.mjs';
import { openPanel, picture, signedIn } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Frame} Frame */

const STREAMS_PER_USER = 32;

const running = /** @type {{hux: import('../lib/hux.mjs').Hux, browser: import('playwright-core').Browser}} */ ({});
const data = mkdtempSync(join(tmpdir(), 'hux-timeline-'));
before(async () => {
  running.browser = await launchChromium();
  running.hux = await startHux({ command: 'demo', data });
});
after(async () => {
  await running.browser?.close();
  await running.hux?.stop();
  rmSync(data, { recursive: true, force: true });
});

/**
 * Types a message and sends it.
 *
 * @param {Page} page
 * @param {string} text
 */
async function send(page, text) {
  await page.fill('#msg', text);
  await page.press('#msg', 'Enter');
}

/**
 * The numbers that a timeline shows, in order.
 *
 * @param {Page | Frame} view
 * @returns {Promise<number[]>}
 */
const shown = (view) => view.$$eval('[data-seq]', (rows) =>
  rows.map((row) => Number(/** @type {HTMLElement} */ (row).dataset.seq)).sort((a, b) => a - b));

/**
 * The kinds that a timeline shows.
 *
 * @param {Page | Frame} view
 * @returns {Promise<string[]>}
 */
const kinds = (view) => view.$$eval('[data-seq]', (rows) => rows.map((row) => /** @type {HTMLElement} */ (row).dataset.kind ?? ''));

/**
 * Asks the API from a page of ours, with its cookie.
 *
 * @param {Page | Frame} view
 * @param {string} path  below /hux/v1
 * @param {unknown} [body]
 * @returns {Promise<{status: number, body: any}>}
 */
const api = (view, path, body) => view.evaluate(async ([path, body]) => {
  const answer = await fetch(`/hux/v1${path}`, body === null ? {} : {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json().catch(() => null) };
}, /** @type {const} */ ([path, body ?? null]));

/**
 * The conversation that a timeline shows.
 *
 * @param {Page | Frame} view
 */
const conversationOf = (view) => until(
  async () => /** @type {string | null} */ (await view.getAttribute('[data-timeline]', 'data-conversation')),
  { what: 'the timeline has a conversation' },
);

/**
 * The numbers of all events of a conversation.
 *
 * @param {Page | Frame} view
 * @param {string} conversation
 * @returns {Promise<number[]>}
 */
async function seqs(view, conversation) {
  const { body } = await api(view, `/conversations/${conversation}/events?limit=200`);
  return body.items.map((/** @type {{seq: number}} */ event) => event.seq);
}

/**
 * Puts events into a conversation.
 *
 * @param {Page | Frame} view
 * @param {string} conversation
 * @param {number} count
 * @param {string} [run]
 */
const post = (view, conversation, count, run = `run-of-${conversation}`) => view.evaluate(async ([conversation, count, run]) => {
  for (let n = 1; n <= count; n++) {
    const answer = await fetch(`/hux/v1/conversations/${conversation}/events`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ kind: 'message.committed', status: 'completed', summary: `Event ${n} of the test`, run_id: run }),
    });
    if (answer.status !== 201) throw new Error(`${answer.status}`);
  }
}, /** @type {const} */ ([conversation, count, run]));

/**
 * Waits until a timeline is live and shows what the API has, each once.
 *
 * @param {Page | Frame} view
 * @param {string} conversation
 */
async function complete(view, conversation) {
  await view.waitForSelector('[data-stream][data-state="live"]', { timeout: 45_000 });
  await until(async () => String(await shown(view)) === String(await seqs(view, conversation)), {
    what: 'the timeline shows the log',
  }).catch(async (error) => {
    throw new Error(`shown: ${await shown(view)}\nlog: ${await seqs(view, conversation)}`, { cause: error });
  });
}

test('a message moves the timeline, and it is nobody else’s', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  const frame = await openPanel(page, hux.console, 'Activity');
  await frame.waitForSelector('text=No conversation is open');
  await picture(page, 'timeline-none');

  await send(page, 'hello there');
  await frame.waitForSelector('.run .pill[data-state="started"]');
  await picture(page, 'timeline-running');
  await frame.waitForSelector('.run .pill[data-state="completed"]', { timeout: 20_000 });
  const seen = await kinds(frame);
  for (const kind of ['run.started', 'tool.started', 'tool.finished', 'run.finished']) {
    assert.ok(seen.includes(kind), `${kind} is not among ${seen}`);
  }
  const conversation = await conversationOf(frame);
  await complete(frame, conversation);
  assert.ok(!(await frame.content()).includes('hello there'), 'no content in the timeline');
  await until(async () => (await frame.textContent('[data-said]'))?.includes('new event'), { what: 'a screen reader is told' });

  await frame.click('[data-kind="tool.finished"] .line');
  await frame.waitForSelector('[data-kind="tool.finished"] .details');
  await picture(page, 'timeline-light');
  await page.evaluate(() => document.documentElement.classList.add('dark'));
  await frame.waitForSelector('html[data-theme="dark"]');
  await picture(page, 'timeline-dark');

  // Another run of the same conversation, and one that fails.
  await send(page, 'now fail');
  await frame.waitForSelector('.run .pill[data-state="failed"]', { timeout: 20_000 });
  assert.equal(await frame.locator('.run').count(), 2);
  await complete(frame, conversation);
  await frame.click('[data-filter="failures"]');
  assert.deepEqual(await frame.$$eval('[data-seq]', (rows) =>
    rows.filter((row) => row.getClientRects().length > 0).map((row) => /** @type {HTMLElement} */ (row).dataset.status)), ['failed']);
  await picture(page, 'timeline-failures');
  assert.equal(await frame.isVisible('[data-newer]'), false);
  await frame.click('[data-filter="failures"]');

  // A title of its own came from the WebUI.
  await until(async () => (await api(page, `/conversations/${conversation}`)).body.title === 'hello there', { what: 'the title' });

  const other = await signedIn(running, 'bob');
  assert.equal((await api(other, `/conversations/${conversation}/events`)).status, 404);
  assert.deepEqual((await api(other, '/conversations')).body.items, []);
  await other.goto(`${hux.console}/hux/api/ui/activity#${conversation}`);
  await other.waitForSelector('[data-stream][data-state="refused"]');
  assert.equal(await other.locator('[data-seq]').count(), 0);
  await picture(other, 'timeline-bob');
  assert.deepEqual(errors, []);
  await other.context().close();
  await page.context().close();
});

test('another session shows another timeline, and reloading shows the same', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const frame = await openPanel(page, hux.console, 'Activity');
  await send(page, 'first');
  const first = await conversationOf(frame);
  await frame.waitForSelector('.run .pill[data-state="completed"]', { timeout: 20_000 });
  await page.click('#btnNewChat');
  await frame.waitForSelector('text=No conversation is open');
  await send(page, 'fail');
  const second = await conversationOf(frame);
  assert.notEqual(second, first);
  await frame.waitForSelector('.run .pill[data-state="failed"]', { timeout: 20_000 });
  await complete(frame, second);
  const before = await seqs(frame, second);

  await page.reload();
  const again = await openPanel(page, hux.console, 'Activity');
  assert.equal(await conversationOf(again), second);
  await complete(again, second);
  assert.deepEqual(await seqs(again, second), before, 'a reload reports nothing twice');
  await page.context().close();
});

test('a page that stays open over a restart misses nothing', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  await page.goto(`${hux.console}/hux/api/ui/activity`);
  const { body } = await api(page, '/conversations', { title: 'Over a restart', external_ref: { system: 'webui', id: 'restart' } });
  await page.goto(`${hux.console}/hux/api/ui/activity#${body.id}`);
  await page.reload();
  await complete(page, body.id);
  await post(page, body.id, 5);
  await complete(page, body.id);

  await hux.stop('SIGTERM');
  await page.waitForSelector('[data-stream][data-state="reconnecting"]', { timeout: 15_000 });
  await picture(page, 'timeline-reconnecting');
  running.hux = await startHux({ command: 'demo', data, port: hux.port });
  await until(() => post(page, body.id, 7).then(() => true), { what: 'the router takes events again' });
  await complete(page, body.id);
  await post(page, body.id, 3);
  await complete(page, body.id);
  assert.equal((await shown(page)).length, 15);
  await picture(page, 'timeline-page');
  await page.context().close();
});

test('two tabs share one stream, and hidden ones have none', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  await page.goto(`${hux.console}/hux/api/ui/activity`);
  const { body } = await api(page, '/conversations', { title: 'Two tabs', external_ref: { system: 'webui', id: 'tabs' } });
  const url = `${hux.console}/hux/api/ui/activity#${body.id}`;
  await page.goto(url);
  await page.reload();
  await complete(page, body.id);
  const other = await page.context().newPage();
  await other.goto(url);
  await complete(other, body.id);
  await post(page, body.id, 3);
  for (const view of [page, other]) await complete(view, body.id);
  await until(async () => (await streams(page, body.id)) === 1, { what: 'one stream' });

  await hide(page);
  await post(page, body.id, 2);
  await complete(other, body.id);
  assert.equal((await shown(page)).length, 3);
  await until(async () => (await streams(page, body.id)) === 1, { what: 'one stream' });
  await hide(other);
  await until(async () => (await streams(page, body.id)) === 0, { what: 'nobody looks, nothing is open' });
  await hide(page, false);
  await complete(page, body.id);
  await page.context().close();
});

test('without a SharedWorker a page has a stream of its own', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  await page.addInitScript(() => { Reflect.deleteProperty(window, 'SharedWorker'); });
  await page.goto(`${hux.console}/hux/api/ui/activity`);
  const { body } = await api(page, '/conversations', { title: 'No worker', external_ref: { system: 'webui', id: 'alone' } });
  await page.goto(`${hux.console}/hux/api/ui/activity#${body.id}`);
  await page.reload();
  await complete(page, body.id);
  await post(page, body.id, 3);
  await complete(page, body.id);
  await page.context().close();
});

test('a long log is shown in part, earlier events on demand, new ones on a button', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  await page.goto(`${hux.console}/hux/api/ui/activity`);
  const { body } = await api(page, '/conversations', { title: 'A long one', external_ref: { system: 'webui', id: 'long' } });
  await post(page, body.id, 150);
  await page.goto(`${hux.console}/hux/api/ui/activity#${body.id}`);
  await page.reload();
  await page.waitForSelector('[data-stream][data-state="live"]');
  assert.deepEqual((await shown(page)).slice(0, 1), [51]);
  await page.click('[data-earlier]');
  await complete(page, body.id);
  assert.equal(await page.isVisible('[data-earlier]'), false);

  await page.evaluate(() => { const s = document.querySelector('[data-scroller]'); if (s) s.scrollTop = 0; });
  await post(page, body.id, 2, 'another-run');
  await page.waitForSelector('[data-newer]:has-text("2 new events")');
  await picture(page, 'timeline-new-events');
  await page.click('[data-newer]');
  assert.equal(await page.isVisible('[data-newer]'), false);
  const gap = await page.$eval('[data-scroller]', (s) => s.scrollHeight - s.scrollTop - s.clientHeight);
  assert.ok(gap < 48, `${gap} px from the end`);
  await page.context().close();
});

test('what a later router sends, forgotten events, and a log that starts anew', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  const id = `cnv_${'0'.repeat(31)}1`;
  const evil = '<img src=x onerror=alert(1)>';
  /** @param {Record<string, unknown>[]} events */
  const log = (events) => events.map((event, index) => ({
    seq: index + 1, status: null, summary: '', evidence: [], redaction: { level: 'none' }, tombstone: null,
    created_at: '2026-01-02T03:04:05.678Z', provenance: { actor: { kind: 'agent', id: 'agt_1' } }, ...event,
  }));
  let epoch = 'one';
  let items = log([
    { kind: 'thing.new_in_two', status: 'half_done', summary: evil, future: { member: 1 } },
    {
      kind: 'tool.finished', status: 'completed', summary: 'Built it', causes: [1], data: { tool: evil, nested: {} },
      evidence: [{ kind: 'commit', id: 'c0ffee', owner: 'ci', hash: `sha256:${'a'.repeat(64)}` }],
      redaction: { level: 'none', rules: ['api_key'] },
    },
    { kind: 'message.committed', tombstone: { at: '2026-01-03T00:00:00.000Z', reason: 'user_request' } },
    { kind: 'run.finished', status: 'cancelled', summary: 'Stopped', run_id: 'r1' },
  ]);
  await page.addInitScript(() => { Reflect.deleteProperty(window, 'SharedWorker'); });
  await page.route(/\/events\?/, (route) => {
    const after = Number(new URL(route.request().url()).searchParams.get('after_seq'));
    return route.fulfill({ json: { items: items.filter((event) => event.seq > after), next: null, head_seq: items.length, epoch } });
  });
  await page.route(/\/events\/stream\?/, (route) => {
    const asked = new URL(route.request().url()).searchParams.get('epoch');
    const frames = asked === epoch ? ': ping\n\n' : 'event: hux.reset\ndata: {"reason":"epoch_changed"}\n\n';
    return route.fulfill({ contentType: 'text/event-stream', body: `retry: 2000\n\nevent: hux.hello\r\ndata: {}\r\n\r\n${frames}` });
  });
  await page.goto(`${hux.console}/hux/api/ui/activity#${id}`);
  await page.waitForSelector('[data-seq="4"]');
  assert.deepEqual(await shown(page), [1, 2, 3, 4], 'a forgotten event ends nothing');
  assert.equal(await page.textContent('[data-seq="1"] .summary'), evil);
  assert.match((await page.textContent('[data-seq="1"] .under')) ?? '', /Thing new in two/);
  assert.equal(await page.textContent('[data-seq="3"] .summary'), 'Forgotten');
  await page.click('[data-seq="2"] .line');
  const details = (await page.textContent('[data-seq="2"] .details')) ?? '';
  for (const text of ['commit', 'c0ffee', 'sha256:', 'kept by ci', 'event 1', 'Api key']) {
    assert.ok(details.toLowerCase().includes(text.toLowerCase()), `${text} is not in ${details}`);
  }
  await page.click('[data-seq="3"] .line');
  await picture(page, 'timeline-evidence');
  await page.click('[data-filter="other"]');
  assert.equal(await page.isVisible('[data-seq="1"]'), false);
  assert.equal(await page.locator('img[src=x]').count(), 0);

  epoch = 'two';
  items = log([{ kind: 'run.started', status: 'started', summary: 'After the restore', run_id: 'r2' }]);
  await page.waitForSelector('.summary:has-text("After the restore")', { timeout: 20_000 });
  assert.deepEqual(await shown(page), [1]);
  await page.context().close();
});

test('the keyboard alone, and a phone', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.goto(`${hux.console}/hux/api/ui/activity`);
  await page.waitForSelector('[data-conversations] a');
  await picture(page, 'timeline-phone-list');
  const { body } = await api(page, '/conversations', { title: 'Keys', external_ref: { system: 'webui', id: 'keys' } });
  await post(page, body.id, 3);
  await page.reload();
  await page.tap('[data-conversations] a:has-text("Keys")');
  await complete(page, body.id);
  assert.equal(await page.isVisible('[data-conversations]'), false);

  const focused = () => page.evaluate(() => document.activeElement?.closest('[data-seq]')?.getAttribute('data-seq') ?? document.activeElement?.className);
  await until(async () => { await page.keyboard.press('Tab'); return (await focused()) === '3'; }, { what: 'Tab reaches the newest event' });
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), '2');
  await page.keyboard.press('Home');
  assert.equal(await focused(), 'run-head');
  await page.keyboard.press('Enter');
  assert.equal(await page.isVisible('[data-seq="1"]'), false);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await page.getAttribute('[data-seq="1"] .line', 'aria-expanded'), 'true');
  assert.match((await page.textContent('[data-seq="1"] .details')) ?? '', /Seen by your page, no evidence/);
  await picture(page, 'timeline-phone');
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, 'nothing is wider than the phone');
  await page.tap('.back');
  await page.waitForSelector('[data-conversations] a');

  await page.goto(`${hux.chat}/`);
  const frame = await openPanel(page, hux.console, 'Activity');
  await send(page, 'from a phone');
  await frame.waitForSelector('.run .pill[data-state="started"]');
  await picture(page, 'timeline-phone-panel');
  await page.context().close();
});

/**
 * Makes a page believe that it is hidden, or shown again.
 *
 * @param {Page} page
 * @param {boolean} [hidden]
 */
const hide = (page, hidden = true) => page.evaluate((hidden) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

/**
 * How many streams alice's browser has open: what is left of her limit is
 * taken up here.
 *
 * @param {Page} page
 * @param {string} conversation
 */
async function streams(page, conversation) {
  const { hux } = running;
  const cookies = (await page.context().cookies(hux.console)).map((c) => `${c.name}=${c.value}`).join('; ');
  /** @type {http.ClientRequest[]} */
  const open = [];
  try {
    for (;;) {
      const status = await new Promise((resolve, reject) => {
        const request = http.get({
          host: '127.0.0.1', port: hux.port, path: `/hux/v1/conversations/${conversation}/events/stream`, agent: false,
          headers: { Host: new URL(hux.console).host, Cookie: cookies, Accept: 'text/event-stream' },
        }, (answer) => {
          answer.resume();
          answer.on('error', () => {}); // ended below
          resolve(answer.statusCode);
        });
        request.on('error', reject);
        open.push(request);
      });
      if (status === 429) return STREAMS_PER_USER - (open.length - 1);
      assert.equal(status, 200);
    }
  } finally {
    await Promise.all(open.map((request) => new Promise((resolve) => { request.once('close', resolve); request.destroy(); })));
  }
}
