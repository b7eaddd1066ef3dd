// Runs a real Keycloak on loopback with deploy/keycloak/realm.json.
//
// As a program it serves the realm, with the test users, until it is stopped:
//   node tests/keycloak/keycloak.mjs [--port 8180] [--hux http://127.0.0.1:8080]
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort, request, until } from '../lib/hux.mjs';
import { Admin } from './admin.mjs';
import { cache, javaHome, link, prepare, version } from './distribution.mjs';

/** @param {string} name a file's name, relative to this one */
const json = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

/**
 * @typedef {object} Keycloak
 * @property {string} issuer    http://sso.localhost:PORT/realms/hux, the name that a browser knows
 * @property {string} internal  http://127.0.0.1:PORT, by which a program reaches the same server
 * @property {Admin} admin      its admin interface
 * @property {() => string} log what it has printed so far
 * @property {() => Promise<void>} stop  ends it; its data stays until this process ends
 * @property {() => Promise<void>} start starts it again on the same port with the same data
 */

/**
 * Starts Keycloak with the realm and the test overlay, and waits until it is
 * ready: about 20 seconds.
 *
 * @param {object} options
 * @param {string} options.consoleURL  hux's console origin, for redirects
 * @param {string} options.internalURL the origin at which Keycloak reaches hux
 * @param {number} [options.port]
 * @param {(text: string) => void} [options.say] is told about progress
 * @returns {Promise<Keycloak>}
 */
export async function startKeycloak({ consoleURL, internalURL, port, say = () => {} }) {
  const java = javaHome();
  const prepared = await prepare(say);
  mkdirSync(join(cache, 'run'), { recursive: true });
  const home = mkdtempSync(join(cache, 'run', 'keycloak-'));
  link(prepared, home);

  const [realm, overlay] = [json('../../deploy/keycloak/realm.json'), json('overlay.json')];
  mkdirSync(join(home, 'data', 'import'), { recursive: true });
  writeFileSync(join(home, 'data', 'import', 'hux-realm.json'), JSON.stringify({
    ...realm,
    ...overlay,
    clients: [...realm.clients, ...overlay.clients],
    users: [...realm.users, ...overlay.users],
  }));

  const at = port ?? (await freePort());
  const management = await freePort();
  const secret = randomBytes(24).toString('hex');
  const internal = `http://127.0.0.1:${at}`;
  const argv = ['start', '--optimized', '--import-realm', '--cache=local',
    '--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${at}`,
    '--http-management-host=127.0.0.1', `--http-management-port=${management}`,
    `--hostname=http://sso.localhost:${at}`];
  const env = {
    ...process.env,
    JAVA_HOME: java,
    // One small server for a few users: start fast rather than run fast.
    JAVA_OPTS: '-Xms96m -Xmx384m -XX:MaxMetaspaceSize=256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dfile.encoding=UTF-8',
    KC_BOOTSTRAP_ADMIN_CLIENT_ID: 'tests',
    KC_BOOTSTRAP_ADMIN_CLIENT_SECRET: secret,
    HUX_CONSOLE_URL: consoleURL,
    HUX_INTERNAL_URL: internalURL,
  };

  let log = '';
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  /** @type {Promise<void>} */
  let exited = Promise.resolve();

  const start = async () => {
    const began = Date.now();
    say(`starting Keycloak ${version}`);
    // A process group of its own, since the script has Java as its child.
    const started = spawn(join(home, 'bin', 'kc.sh'), argv, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk) => { log += chunk.toString('utf8'); });
    }
    let over = false;
    exited = new Promise((resolve) => {
      started.once('error', (error) => { log += String(error); over = true; resolve(); });
      started.once('exit', () => { over = true; resolve(); });
    });
    try {
      await until(async () => over || (await request(`http://127.0.0.1:${management}/health/ready`)).status === 200,
        { timeout: 120_000, interval: 150, what: 'Keycloak is ready' });
      if (over) throw new Error('Keycloak ended at once');
    } catch (error) {
      await stop();
      throw new Error(`${error instanceof Error ? error.message : error}\n${log}`);
    }
    say(`Keycloak is ready after ${((Date.now() - began) / 1000).toFixed(1)} s`);
  };

  /** @param {NodeJS.Signals} signal */
  const signalAll = (signal) => {
    if (child?.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
  };
  const stop = async () => {
    signalAll('SIGTERM');
    const late = setTimeout(() => signalAll('SIGKILL'), 15_000);
    await exited;
    clearTimeout(late);
  };

  // An interrupted run leaves nothing behind.
  process.once('exit', () => {
    signalAll('SIGKILL');
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.once(signal, () => process.exit(1));

  await start();
  return {
    issuer: `http://sso.localhost:${at}/realms/${realm.realm}`,
    internal,
    admin: new Admin(internal, realm.realm, 'tests', secret),
    log: () => log,
    stop,
    start,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: {
    port: { type: 'string', default: '8180' },
    hux: { type: 'string', default: 'http://127.0.0.1:8080' },
    console: { type: 'string', default: 'http://console.hux.localhost:8080' },
  } });
  const keycloak = await startKeycloak({
    consoleURL: values.console, internalURL: values.hux, port: Number(values.port), say: (text) => console.log(text),
  });
  console.log(`oidc_issuer:        ${keycloak.issuer}`);
  console.log(`oidc_internal_url:  ${keycloak.internal}`);
  console.log(`oidc_client_secret: ${await keycloak.admin.secret('hux')}`);
  console.log('Sign in as alice, bob or olga; their passwords stand in tests/keycloak/overlay.json. Ctrl-C ends it.');
}
