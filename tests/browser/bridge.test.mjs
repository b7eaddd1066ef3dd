// The bridge in the WebUI's page: button, panel, theme, phone width, keyboard.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { demo, openPanel, picture, signedIn, whoAmI } from './support.mjs';

const running = demo();

/**
 * The colours that a frame's body and text have.
 *
 * @param {import('playwright-core').Frame | import('playwright-core').Page} frame
 */
const colours = (frame) => frame.evaluate(() => {
  const style = getComputedStyle(document.body);
  return [style.backgroundColor, style.color];
});

/**
 * How far the colours are apart (WCAG 2, contrast ratio).
 *
 * @param {string[]} pair
 */
function contrast(pair) {
  const [a, b] = pair.map((text) => {
    const [r, g, b] = (text.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
      const c = Number(part) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
  });
  const [light, dark] = [Math.max(a ?? 0, b ?? 0), Math.min(a ?? 0, b ?? 0)];
  return (light + 0.05) / (dark + 0.05);
}

/**
 * @param {import('playwright-core').Page} page
 * @param {boolean} dark
 */
const setDark = (page, dark) => page.evaluate((on) => document.documentElement.classList.toggle('dark', on), dark);

test('the panel says who is signed in and where', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  assert.equal(await page.locator('header.app-titlebar .hux-button').count(), 1);
  await page.waitForSelector('.hux-dot[data-state="live"]');
  await picture(page, 'bridge-button');

  const frame = await openPanel(page, hux.console);
  assert.match((await frame.textContent('[data-fact="name"]')) ?? '', /alice/i);
  const id = await whoAmI(page);
  assert.equal(await frame.getAttribute('[data-fact="user"]', 'title'), id);
  assert.equal(await frame.textContent('[data-slot-state]'), 'Running');
  assert.equal(await frame.textContent('[data-connection]'), 'Connected');
  assert.equal(await frame.getAttribute('a.button:has-text("Open console")', 'target'), '_blank');
  assert.deepEqual(errors, []);

  await frame.click('[data-copy]');
  await frame.waitForSelector('[data-copy]:has-text("Copied")');

  const [opened] = await Promise.all([page.context().waitForEvent('page'), frame.click('text=Open console')]);
  await opened.waitForSelector('[data-me][aria-busy="false"]', { state: 'attached' });
  assert.equal(new URL(opened.url()).origin, hux.console);
  assert.equal(await opened.evaluate(() => window.opener), null);
  await picture(opened, 'console-home');
  await page.context().close();
});

test('the panel wears the WebUI’s theme and follows it', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  for (const scheme of /** @type {const} */ (['light', 'dark'])) {
    // Against what the browser prefers, so that only the message can have done it.
    await page.emulateMedia({ colorScheme: scheme === 'dark' ? 'light' : 'dark' });
    await setDark(page, scheme === 'dark');
    const frame = await openPanel(page, hux.console);
    const wanted = await colours(page);
    await until(async () => String(await colours(frame)) === String(wanted), { what: `the panel is ${scheme}` });
    assert.ok(contrast(await colours(frame)) >= 4.5);
    await picture(page, `panel-${scheme}`);

    await setDark(page, scheme !== 'dark');
    await until(async () => String(await colours(frame)) !== String(wanted), { what: 'the panel follows' });
    await page.click('.hux-close');
  }

  // A value that is no colour is not taken over.
  const frame = await openPanel(page, hux.console);
  await page.evaluate(() => {
    document.documentElement.style.setProperty('--bg', 'url(https://evil.example/x)');
    document.documentElement.style.setProperty('--text', 'rgb(1, 2, 3)');
  });
  await until(async () => (await colours(frame))[1] === 'rgb(1, 2, 3)', { what: 'the colour is taken' });
  assert.equal(await frame.evaluate(() => document.documentElement.style.getPropertyValue('--bg')), '');
  await page.context().close();
});

test('on a phone the panel is a sheet at the bottom', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await picture(page, 'phone-button');
  const frame = await openPanel(page, hux.console);
  await picture(page, 'phone-panel');
  const panel = await page.locator('.hux-panel').boundingBox();
  assert.ok(panel && panel.x === 0 && panel.width === 390, `panel at ${JSON.stringify(panel)}`);
  assert.ok(Math.abs(panel.y + panel.height - 844) < 1 && panel.y > 100, `panel at ${JSON.stringify(panel)}`);
  for (const view of [page, frame]) {
    const overflow = await view.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, 'nothing is wider than the phone');
  }
  for (const target of ['.hux-close', '.hux-button']) {
    const box = await page.locator(target).boundingBox();
    assert.ok(box && Math.min(box.width, box.height) >= 36, `${target} is ${JSON.stringify(box)}`);
  }
  await page.tap('.hux-close');
  assert.equal(await page.isVisible('.hux-panel'), false);
  await page.context().close();
});

test('the keyboard alone is enough', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice', { viewport: { width: 1280, height: 800 } });
  const focused = () => page.evaluate(() => document.activeElement?.className ?? '');

  await until(async () => {
    await page.keyboard.press('Tab');
    return (await focused()).includes('hux-button');
  }, { what: 'Tab reaches the button' });
  assert.equal(await page.getAttribute('.hux-button', 'aria-expanded'), 'false');
  await page.keyboard.press('Enter');
  assert.equal(await page.getAttribute('.hux-button', 'aria-expanded'), 'true');
  assert.equal(await page.getAttribute('.hux-button', 'aria-controls'), 'hux-panel');
  assert.match(await focused(), /hux-close/);
  await picture(page, 'keyboard-focus');

  // Escape in the panel, and in the frame, closes and gives the focus back.
  await page.keyboard.press('Escape');
  assert.equal(await page.isVisible('.hux-panel'), false);
  assert.match(await focused(), /hux-button/);

  await page.keyboard.press('Enter');
  const frame = await until(() => page.frames().find((f) => f.url() === `${hux.console}/hux/api/ui/panel`), { what: 'the frame' });
  await frame.waitForSelector('[data-me][aria-busy="false"]', { state: 'attached' });
  await page.waitForSelector('.hux-frame:not(.hux-waiting)');
  await page.keyboard.press('Tab');
  assert.match(await focused(), /hux-frame/);
  await page.keyboard.press('Escape');
  await page.waitForSelector('.hux-panel', { state: 'hidden' });
  assert.match(await focused(), /hux-button/);
  await page.context().close();
});

test('Escape closes the panel from anywhere, unless the WebUI took the key', async () => {
  const { hux } = running;
  for (const options of [{ viewport: { width: 1280, height: 800 } }, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]) {
    const page = await signedIn(running, 'alice', options);
    await openPanel(page, hux.console);
    await page.evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    });
    await page.keyboard.press('Escape');
    assert.equal(await page.isVisible('.hux-panel'), false);

    // Whoever writes goes on writing.
    await openPanel(page, hux.console);
    await page.evaluate(() => {
      const field = document.createElement('textarea');
      field.id = 'writing';
      document.body.prepend(field);
      field.focus();
      field.addEventListener('keydown', (event) => event.preventDefault(), { once: true });
    });
    await page.keyboard.press('Escape');
    assert.equal(await page.isVisible('.hux-panel'), true, 'the key was the field’s');
    await page.keyboard.press('Escape');
    assert.equal(await page.isVisible('.hux-panel'), false);
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'writing');
    await page.context().close();
  }
});

test('the button comes back when the page is rebuilt, and finds a place without a title bar', async () => {
  const page = await signedIn(running, 'alice');
  await page.evaluate(() => {
    const bar = document.querySelector('header.app-titlebar');
    const rebuilt = document.createElement('header');
    rebuilt.className = 'app-titlebar';
    rebuilt.textContent = 'rebuilt';
    bar?.replaceWith(rebuilt);
  });
  await page.waitForSelector('header.app-titlebar .hux-button');
  await page.evaluate(() => document.querySelector('header.app-titlebar')?.remove());
  await page.waitForSelector('body > .hux-button.hux-in-corner');
  assert.equal(await page.locator('.hux-button').count(), 1);
  await picture(page, 'bridge-corner');
  await page.context().close();
});

test('a frame that is kept away leaves a link', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  await page.route(`${hux.console}/hux/api/ui/panel`, (route) => route.abort());
  await page.click('.hux-button');
  await page.waitForSelector('.hux-note a', { timeout: 10_000 });
  assert.equal(await page.getAttribute('.hux-note a', 'href'), `${hux.console}/hux/api/ui/`);
  await picture(page, 'bridge-link');
  await page.context().close();
});

test('messages are taken from the console’s frame alone', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const frame = await openPanel(page, hux.console);
  await page.evaluate(() => new Promise((resolve) => {
    const forged = [{ hux: 1, type: 'close' }, null, 1, 'close', {}, { hux: 2, type: 'close' }, { hux: 1 }];
    let coming = forged.length + 1; // and the other frame's
    window.addEventListener('message', (event) => { // behind the bridge's own listener
      if (event.origin === location.origin && --coming === 0) resolve(undefined);
    });
    for (const data of forged) window.postMessage(data, '*'); // the page itself
    const other = document.createElement('iframe'); // another frame of the page
    other.srcdoc = '<script>parent.postMessage({ hux: 1, type: "close" }, "*")</' + 'script>';
    document.body.append(other);
  }));
  assert.equal(await page.isVisible('.hux-panel'), true);
  await frame.evaluate((chat) => parent.postMessage({ hux: 1, type: 'close' }, chat), hux.chat);
  await page.waitForSelector('.hux-panel', { state: 'hidden' });
  await page.context().close();
});

test('the button tells when the connection is gone and is back', async () => {
  const page = await signedIn(running, 'alice');
  await page.waitForSelector('.hux-dot[data-state="live"]');
  await page.context().setOffline(true);
  await page.waitForSelector('.hux-dot[data-state="offline"]');
  assert.match((await page.textContent('.hux-button')) ?? '', /offline/);
  await page.context().setOffline(false);
  await page.waitForSelector('.hux-dot[data-state="live"]');
  await page.context().close();
});
