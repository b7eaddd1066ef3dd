// A script in the WebUI's page may read, but not do what only a human may.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, picture, signedIn, whoAmI } from './support.mjs';

const running = demo();

test('a script in the WebUI’s page reads /hux/v1 and ends no sessions', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const seen = await page.evaluate(async (console_) => {
    const json = { 'Content-Type': 'application/json' };
    const read = await fetch('/hux/v1/capabilities');
    const end = await fetch('/hux/api/sessions/end', { method: 'POST', headers: json, body: '{}' });
    const across = (/** @type {RequestInit} */ init, path = '/hux/api/sessions/end') =>
      fetch(console_ + path, { method: 'POST', credentials: 'include', ...init }).then(
        (answer) => `answered ${answer.status}, ${answer.type}`,
        () => 'blocked',
      );
    return {
      read: { status: read.status, schema: (await read.json()).contract_version },
      end: { status: end.status, code: (await end.json()).code },
      crossJSON: await across({ headers: json, body: '{}' }),
      crossPlain: await across({ mode: 'no-cors', body: '{}' }),
      crossSignOut: await across({ mode: 'no-cors' }, '/hux/auth/sign-out'),
      crossRead: await across({ method: 'GET' }, '/hux/api/me'),
    };
  }, hux.console);
  assert.deepEqual(seen.read, { status: 200, schema: '1.1.0' });
  assert.deepEqual(seen.end, { status: 403, code: 'console_required' });
  assert.equal(seen.crossJSON, 'blocked');
  assert.equal(seen.crossRead, 'blocked');
  // No browser lets the script see these two answers; what counts is that
  // the session is still there.
  assert.match(seen.crossPlain, /^(blocked|answered 0, opaque)$/);
  assert.match(seen.crossSignOut, /^(blocked|answered 0, opaque)/);

  // Nor does a form of the page sign anybody out: the WebUI's own policy stops
  // it, and from a page without one the router does.
  for (const policy of [true, false]) {
    const other = await page.context().newPage();
    if (!policy) {
      await other.route(`${hux.chat}/bare`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    }
    await other.goto(policy ? `${hux.chat}/` : `${hux.chat}/bare`);
    const outcome = await Promise.race([
      other.waitForResponse((r) => r.url() === `${hux.console}/hux/auth/sign-out`).then((r) => r.status()),
      other.evaluate((console_) => new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
        const form = document.createElement('form');
        form.method = 'post';
        form.action = `${console_}/hux/auth/sign-out`;
        document.body.append(form);
        form.submit();
      }), hux.console).catch(() => new Promise(() => {})), // the answer's page took its place
    ]);
    assert.equal(outcome, policy ? 'form-action' : 403);
    await other.close();
  }
  assert.match(String(await whoAmI(page)), /^usr_/);
  const other = await page.context().newPage();
  await other.goto(`${hux.console}/`);
  assert.match(String(await whoAmI(other)), /^usr_/);
  await page.context().close();
});

test('the console ends every session, after asking', async () => {
  const { hux } = running;
  const first = await signedIn(running, 'bob');
  const second = await signedIn(running, 'bob');
  const page = await first.context().newPage();
  await page.goto(`${hux.console}/`);
  await page.waitForSelector('[data-me][aria-busy="false"]');
  await page.click('[data-everywhere]');
  await picture(page, 'console-confirm');
  await page.click('dialog button[value=cancel]');
  assert.match(String(await whoAmI(second)), /^usr_/);
  await page.click('[data-everywhere]');
  await page.click('[data-confirmed]');
  await page.waitForURL(`${hux.console}/hux/api/ui/signed-out`);
  await picture(page, 'signed-out-everywhere');
  for (const ended of [first, second, page]) assert.equal(await whoAmI(ended), 401);
  await first.context().close();
  await second.context().close();
});
