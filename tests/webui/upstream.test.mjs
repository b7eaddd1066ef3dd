// The WebUI by itself, without hux: what the router, its rules and the bridge take for granted. When a newer version
// is pinned, these tests tell what changed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { request, until } from '../lib/hux.mjs';
import { startGateway } from './gateway.mjs';
import { pinnedVersion, prepareWebUI, startWebUI } from './webui.mjs';

const key = 'upstream-test-gateway-key';
const user = { 'X-Hux-User': 'usr_one' };
const rules = JSON.parse(readFileSync(new URL('../../router/proxy/hermes-webui.json', import.meta.url), 'utf8'));

/** @type {ReturnType<typeof prepareWebUI>} */
let webui;
/** @type {import('./gateway.mjs').Gateway} */
let gateway;
/** @type {import('./webui.mjs').Instance} */
let slot;

before(async () => {
  webui = prepareWebUI();
  gateway = await startGateway({ key });
  slot = await startWebUI(webui, { name: 'one', gateway, key, logoutURL: 'https://hux.example.org/hux/api/ui/sign-out' });
});

after(async () => {
  await slot?.remove();
  await gateway?.close();
  webui?.remove();
});

/** Signs in and sends as a page would, with the cookie and the token against forged requests. */
async function page() {
  const shell = await request(`${slot.url}/`, { headers: user });
  const cookie = String(shell.headers['set-cookie']).split(';')[0];
  const token = /csrfToken:"([0-9a-f]{64})"/.exec(shell.text)?.[1] ?? '';
  const headers = { ...user, Cookie: cookie, Origin: slot.url, 'X-Hermes-CSRF-Token': token };
  return {
    shell,
    get: (/** @type {string} */ path) => request(slot.url + path, { headers }),
    post: (/** @type {string} */ path, /** @type {unknown} */ body) =>
      request(slot.url + path, { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  };
}

test('the version and the landmarks are where the rules say', async () => {
  const { path, before: left, after: right, tested } = rules.upstream.version;
  const { text } = await request(slot.url + path);
  const from = text.indexOf(left) + left.length;
  assert.equal(text.slice(from, text.indexOf(right, from)), pinnedVersion);
  assert.ok(tested.includes(pinnedVersion), 'the rules name the pinned version');
  for (const landmark of rules.upstream.landmarks) {
    const answer = await request(slot.url + landmark.path);
    assert.equal(answer.status, 200, landmark.path);
    for (const part of landmark.contains) assert.ok(answer.text.includes(part), `${landmark.path}: ${part}`);
  }
});

test('nobody is let in without the identity header', async () => {
  const api = await request(`${slot.url}/api/sessions`);
  assert.equal(api.status, 401);
  const navigation = await request(`${slot.url}/`);
  assert.equal(navigation.status, 302);
  assert.match(String(navigation.headers.location), /^login/);
});

test('a cookie without the header is worth nothing', async () => {
  const { shell } = await page();
  const cookie = String(shell.headers['set-cookie']).split(';')[0];
  assert.match(cookie, /^hws_one=/);
  assert.equal((await request(`${slot.url}/api/sessions`, { headers: { Cookie: cookie } })).status, 401);
});

test('the shell is not stored, framed or compressed, and its policy lets a script of its origin run', async () => {
  const { headers } = (await page()).shell;
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['content-encoding'], undefined);
  assert.match(String(headers['content-security-policy']), /script-src 'self'/);
  assert.match(String(headers['content-security-policy']), /frame-src 'self'(;|$)/);
});

test('HEAD is not known', async () => {
  assert.equal((await request(`${slot.url}/`, { method: 'HEAD', headers: user })).status, 501);
});

test('the body of a GET is taken for the next request', async () => {
  const smuggled = 'GET /api/projects HTTP/1.1\r\nHost: x\r\nX-Hux-User: usr_other\r\n\r\n';
  const head = `GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\n\r\n`;
  const socket = net.connect(Number(new URL(slot.url).port), '127.0.0.1');
  socket.write(head + smuggled);
  let answers = '';
  socket.on('data', (chunk) => { answers += chunk; });
  await until(() => answers.split('HTTP/1.1 200').length === 3, { what: 'two answers to one request' });
  socket.destroy();
});

test('a folder outside of home and workspace does not become a workspace', async () => {
  const { post } = await page();
  for (const folder of ['state', 'hermes']) {
    const answer = await post('/api/session/new', { workspace: join(slot.data, folder) });
    assert.equal(answer.status, 400, folder);
  }
});

test('its sign-out leads to the page that the environment names', async () => {
  const { post } = await page();
  const answer = await post('/api/auth/logout', {});
  assert.equal(answer.json().trusted_logout_url, 'https://hux.example.org/hux/api/ui/sign-out');
});

test('a turn runs at the gateway and its stream ends', async () => {
  const { get, post } = await page();
  const { session } = (await post('/api/session/new', {})).json();
  const { stream_id: stream } = (await post('/api/chat/start', { session_id: session.session_id, message: 'one two' })).json();
  const { status, headers, text } = await get(`/api/chat/stream?stream_id=${stream}`);
  assert.equal(status, 200);
  assert.equal(headers['transfer-encoding'], undefined);
  assert.deepEqual([...text.matchAll(/^event: token\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data).text), ['one ', 'two']);
  assert.match(text, /^event: stream_end$/m);
  const run = gateway.runs.at(-1);
  assert.equal(run?.request.session_id, session.session_id);
  assert.equal(gateway.refused, 0);
});

test('a live stream carries each word when it is said', async () => {
  const { post } = await page();
  const { session } = (await post('/api/session/new', {})).json();
  const taken = gateway.take();
  const { stream_id: stream } = (await post('/api/chat/start', { session_id: session.session_id, message: 'hello' })).json();
  const run = await taken;
  let text = '';
  const open = http.get(`${slot.url}/api/chat/stream?stream_id=${stream}`, { headers: user }, (res) => {
    res.on('data', (chunk) => { text += chunk; });
  });
  for (const word of ['early ', 'late']) {
    run.say(word);
    await until(() => text.includes(word), { what: `the word ${word}` });
  }
  run.complete();
  await until(() => text.includes('event: stream_end'), { what: 'the end' });
  open.destroy();
});

test('a program answers and stops without a token, and what is unknown or stale is told apart', async () => {
  const { post } = await page();
  const { session } = (await post('/api/session/new', {})).json();
  const id = session.session_id;
  const ask = (/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) =>
    request(slot.url + path, body ? { method: 'POST', headers: { ...user, 'Content-Type': 'application/json' }, body: JSON.stringify(body) } : { headers: user });
  const unknown = '0'.repeat(32);
  assert.equal((await ask(`/api/chat/cancel?stream_id=${unknown}`)).json().cancelled, false);
  const { active, replay_available: known } = (await ask(`/api/chat/stream/status?stream_id=${unknown}`)).json();
  assert.deepEqual({ active, known }, { active: false, known: false });
  assert.equal((await ask('/api/approval/respond', { session_id: id, approval_id: unknown, choice: 'once' })).json().stale_cleared, true);

  await ask(`/api/approval/inject_test?session_id=${id}&command=ls`);
  const { pending } = (await ask(`/api/approval/pending?session_id=${id}`)).json();
  assert.equal(pending.command, 'ls');
  assert.equal((await ask('/api/approval/respond', { session_id: id, approval_id: unknown, choice: 'once' })).json().ok, false);
  assert.equal((await ask('/api/approval/respond', { session_id: id, approval_id: pending.approval_id, choice: 'once' })).json().ok, true);
  assert.equal((await ask(`/api/approval/pending?session_id=${id}`)).json().pending, null);
});

test('the list of sessions says which waits, and tells when that changes', async () => {
  const { get, post } = await page();
  const { session } = (await post('/api/session/new', {})).json();
  const taken = gateway.take();
  await post('/api/chat/start', { session_id: session.session_id, message: 'hello' });
  const run = await taken;
  let text = '';
  const open = http.get(`${slot.url}/api/sessions/events`, { headers: user }, (res) => res.on('data', (chunk) => { text += chunk; }));
  await until(() => text.length > 0, { what: 'the stream is open' });
  const before = text.length;
  const choice = run.ask('rm -rf build', 'deletes files');
  await until(() => /^data: /m.test(text.slice(before)), { what: 'a change' });
  const row = await until(async () => (await get('/api/sessions')).json().sessions.find((/** @type {any} */ s) => s.session_id === session.session_id && s.attention), { what: 'attention' });
  assert.equal(row.attention.kind, 'approval');
  open.destroy();
  await get(`/api/chat/cancel?stream_id=${(await get(`/api/session/status?session_id=${session.session_id}`)).json().active_stream_id}`);
  void choice; // the run is over
});
