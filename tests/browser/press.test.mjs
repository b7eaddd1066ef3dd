// A press is what the person aimed at: what moves between aim and press, between
// press and release, or comes to be under a pointer, decides nothing and says so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { armed, choose, composerFrame, demoWithAgent, openSession, pressed } from './agent.mjs';
import { picture, signedIn } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Frame} Frame */

const running = demoWithAgent();
let calls = 0;
const call = () => ({ args: { command: `make target-${++calls}` }, seconds: 280 }); // one that no grant is for
const SOON = 500; // ms within which a press follows a shift, or the trial is made again

/**
 * Alice in a window of the console's own, for a conversation with a run.
 *
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
async function console_(options = { viewport: { width: 1100, height: 900 } }) {
  const { agent, hux } = running;
  const chat = await signedIn(running, 'alice', options);
  const conversation = await agent.conversation(await openSession(chat));
  const run = await agent.run(conversation);
  const page = await chat.context().newPage();
  await page.goto(`${hux.console}/hux/api/ui/decisions#${conversation}`);
  return { chat, page, conversation, run, close: () => chat.context().close() };
}

/**
 * @param {Page | Frame} view
 * @param {string} id
 * @param {string} choice
 */
async function middleOf(view, id, choice) {
  const box = await view.locator(`[data-approval="${id}"] [data-choice="${choice}"]`).boundingBox();
  assert.ok(box, choice);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/**
 * Where a card and its choices are in the page.
 *
 * @param {Page | Frame} view
 * @param {string} id
 */
const places = (view, id) => view.$eval(`[data-approval="${id}"]`, (card) => JSON.stringify([card, ...card.querySelectorAll('[data-choice]')].map((e) => {
  const { x, y, width, height } = e.getBoundingClientRect();
  return [x, y, width, height].map(Math.round);
})));

/**
 * Aims at a choice and has the page shift at an event of the press, so that no
 * time lies between. Gives the words that the card has for it.
 *
 * @param {Page} page
 * @param {string} id
 * @param {string} choice
 * @param {'mousemove' | 'pointerdown' | 'pointerup'} when
 * @param {string} shift  the body of a function of the card
 */
async function shifted(page, id, choice, when, shift) {
  for (let n = 0; n < 20; n++) {
    await armed(page, id);
    const { x, y } = await middleOf(page, id, choice);
    await page.mouse.move(x - 1, y);
    await page.evaluate(`{ // as text, since the page's policy lets none be made into a function there
      const card = document.querySelector('[data-approval="${id}"]');
      window.times = { shifted: 0, pressed: 0 };
      window.addEventListener('pointerdown', ({ timeStamp }) => { times.pressed = timeStamp; }, { capture: true, once: true });
      window.addEventListener('${when}', () => {
        ${shift};
        document.body.getBoundingClientRect();
        times.shifted = performance.now();
      }, { capture: true, once: true });
    }`);
    const said = await pressed(page, id, async () => {
      await Promise.all([page.mouse.move(x, y), page.mouse.down(), page.mouse.up()]);
    });
    // @ts-ignore: made above
    const { shifted, pressed: at } = await page.evaluate(() => window.times);
    await page.evaluate(() => {
      for (const styled of document.querySelectorAll('[style]')) {
        const { style } = /** @type {HTMLElement} */ (styled);
        for (const name of [...style]) if (!name.startsWith('--')) style.removeProperty(name);
      }
      document.querySelectorAll('[data-test]').forEach((made) => made.remove());
    });
    if (at - shifted < SOON) return said;
  }
  throw new Error('no press came soon after the shift');
}

/** What moves or changes a card, by what a person would call it. @type {Record<string, string>} */
const SHIFTS = {
  'something comes above': "const p = document.createElement('div'); p.dataset.test = ''; p.style.height = '70px'; document.querySelector('main').prepend(p)",
  'a card comes above': "const li = card.closest('li').cloneNode(true); li.dataset.test = ''; li.firstElementChild.removeAttribute('data-approval'); card.closest('ol').prepend(li)",
  'a choice’s width': "card.querySelector('[data-choice=once]').style.flex = '0 0 400px'",
  'the choices change places': "card.querySelector('.choices').style.flexDirection = 'row-reverse'; card.querySelector('.choices').style.display = 'flex'",
  'one pixel': "document.querySelector('main').style.paddingTop = '26px'",
  'a font': "card.querySelectorAll('.label').forEach((l) => { l.style.fontFamily = 'monospace'; })",
  'the size of letters': "document.documentElement.style.fontSize = '18px'",
  'a transform': "document.body.style.transform = 'translateX(-160px)'",
  zoom: "document.body.style.zoom = '1.1'",
  'a scroll': "document.body.style.minHeight = '4000px'; window.scrollTo(0, 60)",
  'words of a choice': "card.querySelector('[data-choice=always] .label').firstChild.data += ' more'",
};

test('what moves between aim and press decides nothing, and says so', async () => {
  const { agent } = running;
  const { page, conversation, run, close } = await console_();
  const { approval_id: id } = await agent.ask(conversation, run, call());
  for (const [name, shift] of Object.entries(SHIFTS)) {
    for (const choice of ['always', 'deny']) {
      const said = await shifted(page, id, choice, 'mousemove', shift);
      assert.match(said, /^Nothing was decided: this had only just appeared or moved/, `${name}, ${choice}`);
      await page.evaluate(() => window.scrollTo(0, 0));
    }
  }
  await agent.undecided(id, 0);

  // The choice alone that is pressed was the aim, and yet it has moved.
  for (const when of /** @type {const} */ (['pointerdown', 'pointerup'])) {
    for (const name of ['something comes above', 'one pixel', 'the choices change places', 'a transform']) {
      const said = await shifted(page, id, 'always', when, SHIFTS[name] ?? '');
      assert.match(said, /^Nothing was decided/, `${name}, at ${when}`);
    }
  }
  await agent.undecided(id, 0);
  assert.equal(await page.getAttribute('.note', 'role'), 'alert', 'a screen reader is told');
  await picture(page, 'press-too-early');

  await choose(page, id, 'always');
  assert.equal((await agent.decided(id)).decision.choice, 'always', 'without a shift the same press counts');
  await close();
});

test('a press is one thing: let go elsewhere, held while frames stop, twice, or late', async () => {
  const { agent } = running;
  const { page, conversation, run, close } = await console_();
  const { approval_id: id } = await agent.ask(conversation, run, call());
  await armed(page, id);
  const always = await middleOf(page, id, 'always');
  const deny = await middleOf(page, id, 'deny');
  const drag = (/** @type {{x: number, y: number}[]} */ ...way) => pressed(page, id, async () => {
    const [from, ...to] = way;
    await page.mouse.move(from?.x ?? 0, from?.y ?? 0);
    await page.mouse.down();
    for (const { x, y } of to) await page.mouse.move(x, y);
    await page.mouse.up();
  });
  for (const way of [[always, deny], [deny, always], [always, { x: 5, y: 5 }], [always, { x: 2_000, y: 5 }]]) {
    await armed(page, id);
    assert.match(await drag(...way), /^Nothing was decided: you let go elsewhere/, JSON.stringify(way));
  }
  // While no frame comes nobody knows what is painted.
  const said = await shifted(page, id, 'always', 'mousemove', 'const end = performance.now() + 400; while (performance.now() < end);');
  assert.match(said, /^Nothing was decided/);
  await agent.undecided(id, 0);

  // Of two presses the first counts, and the second undoes nothing.
  await armed(page, id);
  await page.mouse.dblclick(deny.x, deny.y);
  await until(async () => {
    if ((await agent.approval(id)).status !== 'pending') return true;
    await armed(page, id);
    await page.mouse.dblclick(deny.x, deny.y);
    return false;
  }, { what: 'a double press counts' });
  assert.equal((await agent.decided(id)).decision.choice, 'deny');
  await page.waitForSelector(`[data-ended="${id}"]:text("You denied this: terminal")`);

  // While one is on its way nothing else is chosen.
  const { approval_id: two } = await agent.ask(conversation, run, call());
  /** @type {() => void} */
  let go = () => {};
  await page.route(/\/hux\/v1\/approvals\/apr_/, async (route) => {
    if (route.request().method() === 'POST') await new Promise((resolve) => { go = () => resolve(undefined); });
    await route.fallback();
  });
  await choose(page, two, 'once');
  assert.match((await page.textContent(`[data-approval="${two}"] .note`)) ?? '', /You chose “Allow once”. Telling the router/);
  const other = await pressed(page, two, () => page.click(`[data-approval="${two}"] [data-choice="deny"]`, { force: true }));
  assert.match(other, /You chose “Allow once”. It is on its way; nothing else was decided/);
  go();
  assert.equal((await agent.decided(two)).decision.choice, 'once');
  await page.waitForSelector(`[data-ended="${two}"]:text("You allowed this once: terminal")`);
  await close();
});

test('keys: what has just moved takes none, and none is lost in silence', async () => {
  const { agent } = running;
  const { page, conversation, run, close } = await console_();
  const { approval_id: id } = await agent.ask(conversation, run, call());
  await armed(page, id);
  const key = (/** @type {string} */ name) => pressed(page, id, () => page.keyboard.press(name));
  await page.focus(`[data-approval="${id}"]`);
  assert.match(await key('Enter'), /^Nothing was decided: none of the choices is marked. Keys: O, S, A, D/);
  for (const name of ['o', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(name);
  assert.equal(await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).dataset.choice), 'deny');
  for (const name of ['Enter', 'Space']) {
    await armed(page, id);
    await page.evaluate(() => window.addEventListener('keydown', () => {
      document.body.style.paddingTop = `${(parseFloat(document.body.style.paddingTop) || 0) + 9}px`;
    }, { capture: true, once: true }));
    assert.match(await key(name), /^Nothing was decided: this had only just/, name);
  }
  await agent.undecided(id, 0);
  await until(async () => {
    await armed(page, id);
    return !/^Nothing/.test(await key('Enter'));
  }, { what: 'a key that counts' });
  assert.equal((await agent.decided(id)).decision.choice, 'deny');
  await close();
});

test('choices keep their places while a card lives, and Deny is never above or below what allows', async () => {
  const { agent, hux } = running;
  const { chat, page, conversation, run, close } = await console_();
  const other = await chat.context().newPage();
  await other.goto(`${hux.console}/hux/api/ui/decisions#${conversation}`);
  const { approval_id: first } = await agent.ask(conversation, run, call());
  const composer = await composerFrame(chat);
  await armed(composer, first);
  const { approval_id: second } = await agent.ask(conversation, run, call());
  await composer.waitForSelector('[data-decisions-title]:text("1 of 2")');
  await armed(page, second);
  const before = await places(page, second);

  await choose(other, first, 'deny');
  await page.waitForSelector(`[data-ended="${first}"]`);
  assert.equal(await places(page, second), before, 'the one above has ended');
  await armed(composer, second);
  const framed = await places(composer, second);
  const { approval_id: third } = await agent.ask(conversation, run, call());
  await page.waitForSelector(`[data-approval="${third}"]`);
  assert.equal(await places(page, second), before, 'another has come');
  await composer.waitForSelector('[data-decisions-title]:text("1 of 2")');
  await armed(composer, second);
  assert.equal(await places(composer, second), framed, 'another waits over the composer');
  await armed(page, second);
  await page.mouse.move(1, 1);
  const { x, y } = await middleOf(page, second, 'always');
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(1, 1);
  await page.mouse.up();
  await page.waitForSelector(`[data-approval="${second}"] .note:text("let go elsewhere")`);
  assert.equal(await places(page, second), before, 'it has something to say');
  await until(async () => await page.textContent(`[data-approval="${second}"] .time-left`) !== '4 min 39 s left', { what: 'time goes on' });
  assert.equal(await places(page, second), before, 'time goes on');
  await picture(page, 'press-places');

  for (const width of [320, 390, 560, 700, 1000]) {
    await page.setViewportSize({ width, height: 900 });
    await armed(page, third);
    const boxes = await page.$$eval(`[data-approval="${third}"] [data-choice]`, (all) => all.map((e) => {
      const { left, right } = e.getBoundingClientRect();
      return { choice: /** @type {HTMLElement} */ (e).dataset.choice, left, right };
    }));
    const deny = boxes.find(({ choice }) => choice === 'deny');
    assert.deepEqual(boxes.map(({ choice }) => choice), ['once', 'session', 'always', 'deny']);
    for (const { choice, left, right } of boxes) {
      assert.ok(choice === 'deny' || (deny && (right <= deny.left || left >= deny.right)), `${choice} and deny share a column at ${width} px`);
    }
    await picture(page, `press-width-${width}`);
  }
  await close();
});

test('what was chosen is said in words, and taken back there', async () => {
  const { agent } = running;
  const { page, conversation, run, close } = await console_();
  for (const [choice, words] of [['session', 'You allowed this for this session: terminal with just these arguments'], ['always', 'You allowed this always: terminal with just these arguments']]) {
    const asked = call();
    const { approval_id: id } = await agent.ask(conversation, run, asked);
    await armed(page, id);
    await choose(page, id, choice ?? '');
    const { decision } = await agent.decided(id);
    assert.equal(decision.choice, choice);
    const line = page.locator(`[data-ended="${id}"]`);
    await line.getByText(words ?? '').waitFor();
    assert.equal(await page.textContent('[data-decided]'), words, 'a screen reader is told');
    await picture(page, `press-${choice}`);
    assert.equal((await agent.ask(conversation, run, asked)).effect, 'allow');
    await until(async () => {
      const button = line.getByRole('button', { name: 'Take back: terminal' });
      if (await button.isEnabled({ timeout: 500 }).catch(() => false)) await button.click();
      return page.locator(`[data-ended="${id}"][data-status="revoked"]:has-text("Taken back. It is asked about again")`).isVisible();
    }, { what: 'it is taken back' });
    assert.ok((await agent.must('GET', '/grants?state=revoked')).items.some((/** @type {{id: string}} */ { id }) => id === decision.grant_id));
  }
  await close();
});

test('a no that does not arrive says so, and is sent again', async () => {
  const { agent } = running;
  const { page, conversation, run, close } = await console_();
  const path = /\/hux\/v1\/approvals\/apr_/;
  const { approval_id: id } = await agent.ask(conversation, run, call());
  await page.route(path, (route) => (route.request().method() === 'POST' ? route.abort() : route.fallback()));
  await choose(page, id, 'deny');
  await page.waitForSelector('.note:text("The router did not answer, so it is not known whether your “Deny” counted.")');
  await agent.undecided(id, 0);
  const before = await places(page, id);
  await picture(page, 'press-not-sent');
  await page.click('text=Choose otherwise');
  await page.waitForSelector('.note:text("It is not known whether “Deny” counted. Choose again.")');
  assert.equal(await places(page, id), before);
  await choose(page, id, 'deny');
  await page.unroute(path);
  await page.click('text=Send “Deny” again');
  assert.equal((await agent.decided(id)).decision.choice, 'deny');
  await page.waitForSelector(`[data-ended="${id}"]:text("You denied this")`);
  await close();
});

test('an answer that comes too late says that nothing was allowed', async () => {
  const { agent, hux } = running;
  const { chat, page, conversation, run, close } = await console_();
  const path = /\/hux\/v1\/approvals\/apr_/;
  const granted = (await agent.must('GET', '/grants?state=active')).items.length;
  const other = await chat.context().newPage();
  await other.goto(`${hux.console}/hux/api/ui/decisions#${conversation}`);
  for (const [what, words, before] of /** @type {[string, RegExp, (id: string) => Promise<unknown>][]} */ ([
    ['decided elsewhere', /^Your “Allow always” came too late, and nothing was allowed\. Denied: terminal/, (id) => choose(other, id, 'deny').then(() => agent.decided(id))],
    ['the run has ended', /^Your “Allow always” came too late, and nothing was allowed\. No longer asked: /, () => agent.event(conversation, run, 'run.finished', 'completed', 'Done')],
  ])) {
    const { approval_id: id } = await agent.ask(conversation, run, call());
    await page.waitForSelector(`[data-approval="${id}"]`);
    await page.route(path, async (route) => {
      if (route.request().method() === 'POST') await before(id);
      await page.bringToFront();
      await route.fallback();
    });
    await choose(page, id, 'always');
    await page.waitForSelector(`[data-ended="${id}"][data-late]`);
    assert.match((await page.textContent(`[data-ended="${id}"]`)) ?? '', words, what);
    await picture(page, `press-late-${what.replaceAll(' ', '-')}`);
    await page.unroute(path);
  }
  assert.equal((await agent.must('GET', '/grants?state=active')).items.length, granted);
  await close();
});

test('a thumb: a tap counts, a swipe over the choices is none', async () => {
  const { agent } = running;
  const { page, conversation, run, close } = await console_({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const { approval_id: id } = await agent.ask(conversation, run, call());
  await armed(page, id);
  const { x, y } = await middleOf(page, id, 'always');
  const touch = await page.context().newCDPSession(page);
  const send = (/** @type {'touchStart' | 'touchMove' | 'touchEnd'} */ type, /** @type {number} */ dy) =>
    touch.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y: y + dy }] });
  await send('touchStart', 0);
  for (let dy = 0; dy >= -120; dy -= 20) await send('touchMove', dy);
  await send('touchEnd', 0);
  await agent.undecided(id, 700);
  await choose(page, id, 'always', 'tap');
  assert.equal((await agent.decided(id)).decision.choice, 'always');
  await close();
});

test('a press where a card has just been says that it changed nothing', async () => {
  const { agent } = running;
  const { page, conversation, close } = await console_();
  for (let n = 0; ; n++) {
    assert.ok(n < 20, 'no press came soon after the end');
    const run = await agent.run(conversation);
    const { approval_id: id } = await agent.ask(conversation, run, call());
    await armed(page, id);
    const { x, y } = await middleOf(page, id, 'always');
    await page.mouse.move(x, y);
    const gone = page.evaluate((id) => new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        if (!document.querySelector(`[data-ended="${id}"]`)) return;
        observer.disconnect();
        const ended = performance.now();
        window.addEventListener('pointerdown', ({ timeStamp }) => Object.assign(window, { late: timeStamp - ended }), { capture: true, once: true });
        resolve(undefined);
      }).observe(document.body, { childList: true, subtree: true });
    }), id);
    await agent.event(conversation, run, 'run.finished', 'completed', 'Done');
    await gone;
    await page.mouse.click(x, y);
    // @ts-ignore: made above
    if (await page.evaluate(() => window.late) > SOON) continue;
    await page.waitForSelector(`[data-ended="${id}"]:has-text("Your press came after that, and changed nothing.")`);
    break;
  }
  await close();
});

test('a card whose frame the page around moves takes nothing until it stands still', async () => {
  const { agent } = running;
  const { chat, conversation, run, close } = await console_();
  const composer = await composerFrame(chat);
  const { approval_id: id } = await agent.ask(conversation, run, call());
  await armed(composer, id);
  const told = composer.evaluate((id) => new Promise((resolve) => {
    const card = /** @type {HTMLElement} */ (document.querySelector(`[data-approval="${id}"]`));
    new MutationObserver(() => {
      if (card.dataset.guard === 'early') resolve(card.querySelector('.help')?.textContent);
    }).observe(card, { attributes: true });
  }), id);
  await chat.fill('#msg', 'a\nb\nc\nd\ne\nf');
  await chat.evaluate(() => { /** @type {HTMLElement} */ (document.querySelector('#composerBox')).style.marginBottom = '40px'; });
  assert.equal(await told, 'Not yet: this has only just appeared or moved.');
  await armed(composer, id);
  await choose(composer, id, 'deny');
  assert.equal((await agent.decided(id)).decision.choice, 'deny');
  await close();
});
