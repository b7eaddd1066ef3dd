// Starts the real WebUI: the pinned version, laid out by deploy/webui/build.sh from HUX_WEBUI_DIR, one process per
// slot with folders of its own, in the environment that docs/webui.md prescribes.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, request, until } from '../lib/hux.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const deploy = join(root, 'deploy', 'webui');

/** The version that pin.env names. */
export const pinnedVersion = /^version=(.+)$/m.exec(readFileSync(join(deploy, 'pin.env'), 'utf8'))?.[1] ?? '';

/** A Python with the pinned requirements: HUX_WEBUI_PYTHON, else an environment made here once. */
function python() {
  if (process.env.HUX_WEBUI_PYTHON) return process.env.HUX_WEBUI_PYTHON;
  const requirements = join(deploy, 'requirements.txt');
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const venv = join(root, '.cache', `webui-python-${hash}`);
  const bin = join(venv, 'bin', 'python');
  const complete = join(venv, 'complete');
  if (!existsSync(complete)) {
    execFileSync('python3', ['-m', 'venv', '--clear', venv], { stdio: 'inherit' });
    execFileSync(bin, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', '--require-hashes', '-r', requirements], { stdio: 'inherit' });
    writeFileSync(complete, '');
  }
  return bin;
}

/**
 * Lays out the WebUI in a temporary directory.
 * @returns {{python: string, dir: string, remove: () => void}}
 */
export function prepareWebUI() {
  const source = process.env.HUX_WEBUI_DIR;
  if (!source) throw new Error('HUX_WEBUI_DIR must name a checkout of the WebUI (commit in deploy/webui/pin.env)');
  const dir = mkdtempSync(join(tmpdir(), 'hux-webui-'));
  execFileSync(join(deploy, 'build.sh'), [dir, source], { stdio: ['ignore', 'ignore', 'inherit'] });
  return { python: python(), dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/**
 * @typedef {object} Seen a request that reached the WebUI, from its own log
 * @property {string} method
 * @property {string} path  with the query
 * @property {number} status
 */

/**
 * @typedef {object} Instance
 * @property {string} name
 * @property {string} url
 * @property {string} data   its folders: home, hermes, state, workspace, tmp
 * @property {() => Seen[]} seen
 * @property {() => string} log
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop
 * @property {() => Promise<void>} start again after a stop; nothing if it runs
 * @property {() => Promise<void>} remove stops it and deletes its folders
 */

/**
 * Starts one WebUI and waits until it is healthy.
 *
 * @param {{python: string, dir: string}} webui
 * @param {{name: string, gateway: {url: string}, key: string, logoutURL?: string}} options
 * @returns {Promise<Instance>}
 */
export async function startWebUI(webui, { name, gateway, key, logoutURL = '' }) {
  const data = mkdtempSync(join(tmpdir(), `hux-slot-${name}-`));
  const at = (/** @type {string} */ folder) => join(data, folder);
  for (const folder of ['home', 'hermes', 'state', 'workspace', 'tmp']) mkdirSync(at(folder));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let log = '';
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;

  const start = async () => {
    if (child && child.exitCode === null && child.signalCode === null) return;
    const started = spawn(webui.python, ['server.py'], {
      cwd: webui.dir,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Nothing is inherited: a developer's own agent or keys must not leak into the test.
      env: {
        PATH: process.env.PATH,
        LANG: 'C.UTF-8',
        PYTHONDONTWRITEBYTECODE: '1',
        PYTHONUNBUFFERED: '1',
        HOME: at('home'),
        TMPDIR: at('tmp'),
        HERMES_HOME: at('hermes'),
        HERMES_WEBUI_STATE_DIR: at('state'),
        HERMES_WEBUI_DEFAULT_WORKSPACE: at('workspace'),
        HERMES_WEBUI_PYTHON: webui.python,
        HERMES_WEBUI_HOST: '127.0.0.1',
        HERMES_WEBUI_PORT: String(port),
        HERMES_WEBUI_TRUSTED_AUTH_HEADER: 'X-Hux-User',
        HERMES_WEBUI_TRUSTED_AUTH_LOGOUT_URL: logoutURL,
        HERMES_WEBUI_TRUST_FORWARDED_PROTO: '1',
        HERMES_WEBUI_COOKIE_NAME: `hws_${name}`,
        HERMES_WEBUI_PROFILE_COOKIE_NAME: `hwp_${name}`,
        HERMES_WEBUI_SKIP_ONBOARDING: '1',
        HERMES_WEBUI_CHAT_BACKEND: 'gateway',
        HERMES_WEBUI_GATEWAY_USE_RUNS_API: 'true',
        HERMES_WEBUI_GATEWAY_BASE_URL: gateway.url,
        HERMES_WEBUI_GATEWAY_API_KEY: key,
      },
    });
    child = started;
    const collect = (/** @type {Buffer} */ chunk) => { log += chunk.toString('utf8'); };
    started.stdout.on('data', collect);
    started.stderr.on('data', collect);
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`the WebUI ended with ${started.exitCode}`);
      return (await request(`${url}/health`)).status === 200;
    }, { timeout: 60_000, what: 'the WebUI is healthy' }).catch((error) => {
      started.kill('SIGKILL');
      throw new Error(`${error.message}\n${log}`);
    });
  };

  const stop = async (/** @type {NodeJS.Signals} */ signal = 'SIGTERM') => {
    const running = child;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const exited = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    const late = setTimeout(() => running.kill('SIGKILL'), 10_000);
    await exited;
    clearTimeout(late);
  };

  await start();
  return {
    name,
    url,
    data,
    log: () => log,
    // Its threads write at once, so a line may hold two entries.
    seen: () => [...log.matchAll(/\[webui\] (\{"ts"[^{}]*\})/g)].map(([, entry]) => JSON.parse(entry)),
    start,
    stop,
    remove: async () => {
      await stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
