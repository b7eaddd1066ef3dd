// schemathesis against the OpenAPI document of the running binary, as a person and as an agent: no 5xx, answers as the
// document says, what the document does not allow refused. Routes whose capability is off are left to
// tests/conformance, which also covers streams: they never end.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { huxBinary, request, startHux } from '../lib/hux.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Where tests/deps.sh has put schemathesis. */
const program = join(here, '..', '.build', 'schemathesis', 'bin', 'schemathesis');

/** @type {import('../lib/hux.mjs').Hux} */
let hux;

before(async () => {
  assert.ok(existsSync(program), 'schemathesis is not installed: make deps');
  hux = await startHux();
});
after(() => hux?.stop());

/** A person's token. */
async function aliceToken() {
  return (await request(`${hux.api}/demo/token?user=alice`)).text;
}

/** The credential of a new agent of alice's slot. */
function agentCredential() {
  return execFileSync(huxBinary(), ['agents', 'create', 'alice', 'schemathesis'], {
    env: { ...process.env, HUX_DATA: hux.data },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/**
 * The ids of the operations that are served and end.
 *
 * @param {string} token
 * @returns {Promise<string[]>}
 */
async function servedOperations(token) {
  const headers = { Authorization: `Bearer ${token}` };
  const { flags } = (await request(`${hux.api}/hux/v1/capabilities`, { headers })).json();
  const { paths } = (await request(`${hux.api}/hux/v1/openapi.json`, { headers })).json();
  /** @type {any[]} */
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  return operations
    .filter((o) => o['x-hux-flags'].some((/** @type {string} */ flag) => flags[flag].enabled))
    .filter((o) => !o.responses['200']?.content?.['text/event-stream'])
    .map((o) => o.operationId);
}

/**
 * Without the bodies of tens of kilobytes that are told in one line.
 *
 * @param {string} text
 */
function brief(text) {
  return text.split('\n').map((line) => (line.length > 1000 ? `${line.slice(0, 1000)}…` : line)).join('\n');
}

/** @param {string} credential */
async function check(credential) {
  const ids = await servedOperations(credential);
  assert.ok(ids.length >= 9, `only ${ids.length} operations are served`);
  const scratch = mkdtempSync(join(tmpdir(), 'hux-schemathesis-')); // it keeps notes where it runs
  const run = spawnSync(program, [
    '--config-file', join(here, 'schemathesis.toml'), 'run', `${hux.api}/hux/v1/openapi.json`, '--no-color',
    '--header', `Authorization: Bearer ${credential}`, '--include-operation-id-regex', `^(${ids.join('|')})$`,
  ], { cwd: scratch, encoding: 'utf8', timeout: 240_000 });
  rmSync(scratch, { recursive: true, force: true });
  const { stdout, stderr, error } = run;
  assert.equal(run.status, 0, `${error ?? ''}\n${brief(stdout)}\n${stderr}\n${brief(hux.log())}`);
  return /Test cases:\n.*/.exec(stdout)?.[0].replace(/\s+/g, ' ');
}

test('a person', async (t) => { t.diagnostic((await check(await aliceToken())) ?? ''); });
test('an agent', async (t) => { t.diagnostic((await check(agentCredential())) ?? ''); });
