// deploy/webui/build.sh on a made-up source, so that these tests need neither the WebUI nor Docker.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../deploy/webui/build.sh', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'hux-webui-build-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const source = join(scratch, 'source');
mkdirSync(join(source, 'api'), { recursive: true });
writeFileSync(join(source, 'server.py'), 'print("one")\nprint("two")\n');
writeFileSync(join(source, 'api', 'routes.py'), 'routes = []\n');
const git = (/** @type {string[]} */ ...args) =>
  execFileSync('git', ['-C', source, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { encoding: 'utf8' });
git('init', '-q');
git('add', '.');
git('commit', '-q', '-m', 'one');
const commit = git('rev-parse', 'HEAD').trim();
const digest = /is (sha256:[0-9a-f]{64}),/.exec(build({ digest: 'sha256:0' }).stderr)?.[1] ?? '';

/**
 * Runs build.sh with a pin of its own.
 * @param {{digest?: string, commit?: string, from?: string, patches?: Record<string, string>}} options
 */
function build({ digest: pinned = digest, commit: wanted = commit, from = source, patches = {} }) {
  const dir = mkdtempSync(join(scratch, 'build-'));
  const pin = join(dir, 'pin');
  const out = join(dir, 'out');
  mkdirSync(join(pin, 'patches'), { recursive: true });
  writeFileSync(join(pin, 'pin.env'), `repository=${source}\ncommit=${wanted}\nversion=v9.9.9\ndigest=${pinned}\n`);
  for (const [name, text] of Object.entries(patches)) writeFileSync(join(pin, 'patches', name), text);
  const { status, stderr } = spawnSync(script, [out, from], { env: { ...process.env, WEBUI_PIN: pin }, encoding: 'utf8' });
  return { status, stderr, out };
}

const patch = (/** @type {string} */ from, /** @type {string} */ to) =>
  `--- a/server.py\n+++ b/server.py\n@@ -1,2 +1,2 @@\n-print("${from}")\n+print("${to}")\n print("two")\n`;

test('the pinned commit is laid out with its version', () => {
  const { status, stderr, out } = build({});
  assert.equal(status, 0, stderr);
  assert.equal(readFileSync(join(out, 'server.py'), 'utf8'), 'print("one")\nprint("two")\n');
  assert.equal(readFileSync(join(out, 'api', '_version.py'), 'utf8'), "__version__ = 'v9.9.9'\n");
  assert.equal(existsSync(join(out, '.git')), false);
});

test('a plain directory gives the same tree as the repository', () => {
  const plain = join(scratch, 'plain');
  mkdirSync(plain);
  execFileSync('sh', ['-c', 'git -C "$0" archive HEAD | tar -x -C "$1"', source, plain]);
  mkdirSync(join(plain, 'api', '__pycache__'));
  writeFileSync(join(plain, 'api', '__pycache__', 'routes.pyc'), 'left by a run');
  const { status, stderr, out } = build({ from: plain });
  assert.equal(status, 0, stderr);
  assert.equal(existsSync(join(out, 'api', '__pycache__')), false);
});

test('patches are applied in name order', () => {
  const { status, stderr, out } = build({ patches: { '02-b.patch': patch('1', '2'), '01-a.patch': patch('one', '1') } });
  assert.equal(status, 0, stderr);
  assert.match(readFileSync(join(out, 'server.py'), 'utf8'), /^print\("2"\)/);
});

test('a patch that does not apply fails the build', () => {
  const { status, stderr } = build({ patches: { '01-a.patch': patch('three', '3') } });
  assert.notEqual(status, 0);
  assert.match(stderr, /01-a\.patch does not apply/);
});

test('other content than the pinned fails the build', () => {
  const changed = join(scratch, 'changed');
  mkdirSync(join(changed, 'api'), { recursive: true });
  writeFileSync(join(changed, 'server.py'), 'print("evil")\nprint("two")\n');
  writeFileSync(join(changed, 'api', 'routes.py'), 'routes = []\n');
  const { status, stderr } = build({ from: changed });
  assert.notEqual(status, 0);
  assert.match(stderr, /content digest is/);
});

test('an unknown commit and a shortened one fail the build', () => {
  assert.match(build({ commit: 'f'.repeat(40) }).stderr, /has no commit/);
  assert.match(build({ commit: commit.slice(0, 12) }).stderr, /not a full hash/);
});

test('the shipped patches apply to the shipped pin', () => {
  const dir = process.env.HUX_WEBUI_DIR;
  assert.ok(dir, 'HUX_WEBUI_DIR names a checkout of the WebUI');
  const out = join(scratch, 'real');
  const { status, stderr } = spawnSync(script, [out, dir], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
