// The contract's pages: every record from the same sources as the router, to
// be read with a keyboard, without scripts, and on a phone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, picture, signedIn } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

const running = demo();

/**
 * Alice's page of the contract, and what its console has said.
 *
 * @param {string} path  below /hux/api/ui/contract
 * @param {import('playwright-core').BrowserContextOptions} [options]
 * @returns {Promise<{page: Page, said: string[]}>}
 */
async function opened(path, options = {}) {
  const { hux, browser } = running;
  const chat = await signedIn(running, 'alice');
  const state = await chat.context().storageState();
  await chat.context().close();
  const context = await browser.newContext({ ...options, storageState: state });
  const page = await context.newPage();
  /** @type {string[]} */
  const said = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) said.push(message.text()); });
  page.on('pageerror', (error) => said.push(String(error)));
  await page.goto(`${hux.console}/hux/api/ui/contract${path}`);
  return { page, said };
}

/**
 * What a reader of the page would stumble over: names that are missing, ids
 * that stand twice, links that lead nowhere on the page, what is wider than it.
 *
 * @param {Page} page
 */
const faults = (page) => page.evaluate(() => {
  /** @type {string[]} */
  const found = [];
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) found.push(`the id ${id} stands twice`);
  for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby]')) {
    const named = `${e.getAttribute('aria-labelledby') ?? ''} ${e.getAttribute('aria-describedby') ?? ''}`.trim().split(/\s+/);
    for (const id of named) if (!document.getElementById(id)) found.push(`nothing has the id ${id}`);
  }
  for (const e of document.querySelectorAll('a, button, svg[role], [role="region"]')) {
    const name = e.getAttribute('aria-label') ?? e.getAttribute('aria-labelledby') ?? e.textContent?.trim();
    if (!name) found.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  }
  for (const e of document.querySelectorAll('input')) if (!e.labels?.length) found.push('a field has no label');
  for (const a of document.querySelectorAll('a[href^="#"]')) {
    if (!document.getElementById(a.getAttribute('href')?.slice(1) ?? '')) found.push(`${a.getAttribute('href')} leads nowhere`);
  }
  let level = 0;
  for (const h of document.querySelectorAll('main :is(h1, h2, h3)')) {
    const own = Number(h.tagName[1]);
    if (own > level + 1) found.push(`${h.textContent} skips a level`);
    level = own;
  }
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push('the page is wider than the window');
  return found;
});

test('the console leads to the contract, and its list to a record', async () => {
  const { hux } = running;
  const { page, said } = await opened('/../');
  await page.click('nav[aria-label="Pages"] a:has-text("Contract")');
  await page.waitForURL(`${hux.console}/hux/api/ui/contract`);
  assert.equal(await page.textContent('h1'), 'Contract 1.1.0');
  assert.deepEqual(await faults(page), []);
  const flags = await page.$$eval('.picture .node text', (texts) => texts.map((t) => t.textContent));
  assert.equal(flags.length, 12);
  await picture(page, 'contract-overview');

  await page.click('.contents a:text-is("Conversation")');
  await page.waitForURL('**/contract/hux.conversation.v1');
  assert.equal(await page.getAttribute('.contents a[aria-current="page"]', 'href'), '/hux/api/ui/contract/hux.conversation.v1');
  const states = await page.$$eval('.picture .node text', (texts) => texts.map((t) => t.textContent).sort());
  assert.deepEqual(states, ['active', 'archived', 'forgotten']);
  assert.match(await page.textContent('.picture desc') ?? '', /From active it goes to archived or forgotten/);
  const { item, fields } = await page.evaluate(async () => {
    const schema = await (await fetch('/hux/v1/schemas/hux.conversation.v1')).json();
    return {
      item: Object.keys(schema.properties),
      fields: [...document.querySelectorAll('#fields tr[data-depth="0"] th')].map((th) => th.getAttribute('data-field')),
    };
  });
  assert.deepEqual(fields, item, 'the fields are those of the schema that is served, in its order');
  assert.deepEqual(JSON.parse(await page.textContent('[data-example]') ?? '').schema, 'hux.conversation.v1');
  assert.ok(await page.isVisible('#routes h3:has-text("/hux/v1/conversations/{id}")'));
  assert.deepEqual(await faults(page), []);
  await picture(page, 'contract-record');
  await page.locator('#states').scrollIntoViewIfNeeded();
  await picture(page, 'contract-states');
  assert.deepEqual(said, []);
  await page.context().close();
});

test('the list is searched by keyboard', async () => {
  const { page, said } = await opened('');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip', 'the first stop leads past the list');
  for (let i = 0; i < 12 && !(await page.evaluate(() => document.activeElement?.id === 'filter')); i++) await page.keyboard.press('Tab');
  await page.keyboard.type('tombstone');
  const shown = () => page.$$eval('[data-group] li:not([hidden]) a', (links) => links.map((a) => a.getAttribute('href')));
  assert.deepEqual(await shown(), ['/hux/api/ui/contract/hux.event.v1'], 'a field finds its record');
  assert.match(await page.textContent('[data-found]') ?? '', /^1 of \d+$/);
  await picture(page, 'contract-search');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/contract/hux.event.v1');
  assert.deepEqual(said, []);
  await page.context().close();
});

test('routes and errors open at a link', async () => {
  const { hux } = running;
  const { page, said } = await opened('/routes#get_conversations_id_events_stream');
  assert.ok(await page.isVisible('#get_conversations_id_events_stream dl'));
  assert.deepEqual(await faults(page), []);
  await picture(page, 'contract-routes');
  await page.click('#get_conversations_id_events_stream summary');
  await page.click('#get_conversations_id_events_stream a:has-text("invalid_cursor")');
  await page.waitForURL(`${hux.console}/hux/api/ui/contract/errors#invalid_cursor`);
  assert.match(await page.textContent('#invalid_cursor') ?? '', /400/);
  await picture(page, 'contract-errors');
  assert.deepEqual(await faults(page), []);
  await page.goto(`${hux.console}/hux/api/ui/contract/shared#provenance`);
  assert.ok(await page.isVisible('#provenance th'));
  assert.deepEqual(await faults(page), []);
  const answer = await page.goto(`${hux.console}/hux/api/ui/contract/hux.none.v1`);
  assert.equal(answer?.status(), 404);
  assert.deepEqual(said.filter((text) => !text.includes('404')), []);
  await page.context().close();
});

test('it is there without scripts', async () => {
  const { page } = await opened('?q=tombstone', { javaScriptEnabled: false });
  assert.deepEqual(await page.locator('[data-group] a').evaluateAll((links) => links.map((a) => a.getAttribute('href'))), ['/hux/api/ui/contract/hux.event.v1']);
  await page.locator('[data-group] a').first().click();
  assert.equal(await page.locator('#fields th[data-field="tombstone.reason"]').count(), 1);
  await page.context().close();
});

test('it is there on a phone and in the dark', async () => {
  for (const [name, options] of /** @type {[string, import('playwright-core').BrowserContextOptions][]} */ ([
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }],
  ])) {
    const { page, said } = await opened('', options);
    assert.deepEqual(await faults(page), [], name);
    await picture(page, `contract-overview-${name}`);
    await page.goto(`${page.url()}/hux.conversation.v1`);
    assert.deepEqual(await faults(page), [], name);
    await picture(page, `contract-record-${name}`);
    await page.locator('#states').scrollIntoViewIfNeeded();
    await picture(page, `contract-states-${name}`);
    if (name === 'phone') {
      await page.locator('.back').click();
      await page.waitForURL('**/contract#contents');
      assert.ok(await page.isVisible('.contents'));
    }
    assert.deepEqual(said, [], name);
    await page.context().close();
  }
});

test('who is not signed in does not see it', async () => {
  const { hux, browser } = running;
  const page = await browser.newPage();
  await page.goto(`${hux.console}/hux/api/ui/contract`);
  assert.notEqual(new URL(page.url()).origin, hux.console);
  await page.close();
});
