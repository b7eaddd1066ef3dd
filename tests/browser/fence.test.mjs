// A script in the WebUI's page may read, but not do what only a human may.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo, picture, signedIn, whoAmI } from './support.mjs';

const running = demo();

test('a script in the WebUI’s page reads /hux/v1 and ends no sessions', async () => {
  const page = await signedIn(running, 'alice');
  const seen = await page.evaluate(async () => {
    const read = await fetch('/hux/v1/capabilities');
    const end = await fetch('/hux/api/sessions/end', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    });
    return {
      read: { status: read.status, version: (await read.json()).contract_version },
      end: { status: end.status, code: (await end.json()).code },
    };
  });
  assert.deepEqual(seen.read, { status: 200, version: '1.1.0' });
  assert.deepEqual(seen.end, { status: 403, code: 'console_required' });
  assert.match(String(await whoAmI(page)), /^usr_/);
  await page.context().close();
});

test('the chat origin can do nothing on the console', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const context = page.context();
  // A page of the chat origin without the WebUI’s policy, which would stop all
  // of this in the browser already.
  const attacker = await context.newPage();
  await attacker.route(`${hux.chat}/hux/api/bare`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>bare</title>' }));
  await attacker.goto(`${hux.chat}/hux/api/bare`);
  const seen = await attacker.evaluate(async (console_) => {
    const across = (/** @type {string} */ path, /** @type {RequestInit} */ init) =>
      fetch(console_ + path, { credentials: 'include', ...init }).then((answer) => answer.type, () => 'blocked');
    return [
      await across('/hux/api/me', {}),
      await across('/hux/api/sessions/end', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }),
      await across('/hux/api/sessions/end', { method: 'POST', mode: 'no-cors', body: '{}' }),
      await across('/hux/auth/sign-out', { method: 'POST', mode: 'no-cors' }),
    ];
  }, hux.console);
  assert.deepEqual(seen.slice(0, 2), ['blocked', 'blocked'], 'nothing is allowed by CORS');
  for (const type of seen.slice(2)) assert.match(type, /^(blocked|opaque)$/);

  const [refused] = await Promise.all([
    attacker.waitForResponse(`${hux.console}/hux/auth/sign-out`),
    attacker.evaluate((console_) => {
      const form = document.createElement('form');
      form.method = 'post';
      form.action = `${console_}/hux/auth/sign-out`;
      document.body.append(form);
      form.submit();
    }, hux.console),
  ]);
  assert.equal(refused.status(), 403);

  const console_ = await context.newPage();
  await console_.goto(`${hux.console}/`);
  assert.match(String(await whoAmI(console_)), /^usr_/, 'the session is untouched');
  assert.match(String(await whoAmI(page)), /^usr_/);
  await context.close();
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
