// Builds the hux binary and runs it on a free port.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** @type {string | undefined} */
let built;

/**
 * The path of the hux binary: HUX_BINARY, else built here once. Go's build
 * cache makes a second build of the same source cheap.
 */
export function huxBinary() {
  if (process.env.HUX_BINARY) return process.env.HUX_BINARY;
  if (!built) {
    built = join(root, 'tests', '.build', 'hux');
    execFileSync('go', ['build', '-o', built, './router'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  }
  return built;
}

/** A TCP port of 127.0.0.1 that is free at the moment. */
export async function freePort() {
  const server = net.createServer();
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Calls check until it returns something truthy, and returns that. An error
 * that check throws counts as "not yet" and is told when time is up.
 *
 * @template T
 * @param {() => T | Promise<T>} check
 * @param {{timeout?: number, interval?: number, what?: string}} [options] times in milliseconds
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(check, { timeout = 10_000, interval = 50, what = 'the condition' } = {}) {
  const deadline = Date.now() + timeout;
  let last;
  for (;;) {
    try {
      const value = await check();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`${what}: not within ${timeout} ms`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {http.IncomingHttpHeaders} headers
 * @property {string} text
 * @property {() => any} json
 */

/**
 * Sends a request to 127.0.0.1 with the Host of url, since not every resolver
 * knows *.localhost. Redirects are not followed.
 *
 * @param {string | URL} url
 * @param {{method?: string, headers?: Record<string, string>, body?: string | Buffer}} [options]
 * @returns {Promise<Answer>}
 */
export function request(url, { method = 'GET', headers = {}, body } = {}) {
  const target = new URL(url);
  return new Promise((resolve, reject) => {
    const req = http.request(
      {
        host: '127.0.0.1',
        port: target.port || 80,
        path: target.pathname + target.search,
        method,
        headers: { Host: target.host, ...headers },
        agent: false,
      },
      (res) => {
        /** @type {Buffer[]} */
        const chunks = [];
        res.on('data', (chunk) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json: () => JSON.parse(text) });
        });
      },
    );
    req.on('error', reject);
    req.setTimeout(30_000, () => req.destroy(new Error(`no answer from ${target.host} in 30 s`)));
    req.end(body);
  });
}

/**
 * @typedef {object} Hux
 * @property {number} port
 * @property {string} chat     origin of the proxied WebUI
 * @property {string} console  origin of our own pages; that of chat in one-origin mode
 * @property {string} api      origin for bearer tokens, http://127.0.0.1:PORT
 * @property {string} data     the data directory
 * @property {() => string} log everything it has printed so far
 * @property {(signal?: NodeJS.Signals) => Promise<number | null>} stop ends it and returns its exit code
 * @property {() => Promise<void>} restart stops it and starts it again with the same port and data
 */

/**
 * Starts hux on a free port and waits until it is ready.
 *
 * Configuration given as an object is written as JSON, which is YAML too, and
 * passed with --config. public_url and console_url in it may hold the word
 * PORT, which is replaced.
 *
 * @param {object} [options]
 * @param {'demo' | 'serve'} [options.command]
 * @param {string[]} [options.args]  further arguments
 * @param {Record<string, string>} [options.env]  further environment
 * @param {Record<string, unknown>} [options.config]
 * @param {string} [options.chat]     origin; default http://chat.hux.localhost:PORT
 * @param {string} [options.console]  origin; default http://console.hux.localhost:PORT
 * @param {string} [options.data]     a data directory to keep; default a temporary one
 * @param {number} [options.port]
 * @param {number} [options.timeout]  milliseconds to become ready
 * @returns {Promise<Hux>}
 */
export async function startHux(options = {}) {
  const { command = 'demo', args = [], env = {}, timeout = 20_000 } = options;
  const binary = huxBinary();
  const port = options.port ?? (await freePort());
  const withPort = (/** @type {string} */ text) => text.replaceAll('PORT', String(port));
  const scratch = mkdtempSync(join(tmpdir(), 'hux-test-'));
  const data = options.data ?? join(scratch, 'data');
  const argv = [command, ...args];
  if (options.config) {
    const file = join(scratch, 'hux.yaml');
    writeFileSync(file, withPort(JSON.stringify(options.config, null, 2)));
    argv.push('--config', file);
  }

  let log = '';
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  /** @type {Promise<number | null>} */
  let exited = Promise.resolve(null);

  const start = async () => {
    const process_ = spawn(binary, argv, {
      cwd: scratch,
      env: { ...process.env, HUX_LISTEN: `127.0.0.1:${port}`, HUX_DATA: data, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = process_;
    const collect = (/** @type {Buffer} */ chunk) => { log += chunk.toString('utf8'); };
    process_.stdout.on('data', collect);
    process_.stderr.on('data', collect);
    let over = false;
    exited = new Promise((resolve) => {
      process_.once('error', (error) => { log += String(error); over = true; resolve(null); });
      process_.once('exit', (code) => { over = true; resolve(code); });
    });
    await until(
      async () => over || (await request(`http://127.0.0.1:${port}/hux/readyz`)).status === 200,
      { timeout, what: 'hux is ready' },
    ).catch((error) => {
      process_.kill('SIGKILL');
      throw new Error(`${error.message}\n${log}`);
    });
    if (over) throw new Error(`hux ${argv.join(' ')} ended at once (${await exited}):\n${log}`);
  };

  const end = async (/** @type {NodeJS.Signals} */ signal = 'SIGTERM') => {
    if (child?.exitCode === null && child.signalCode === null) child.kill(signal);
    const late = setTimeout(() => child?.kill('SIGKILL'), 15_000);
    const code = await exited;
    clearTimeout(late);
    return code;
  };

  await start();
  return {
    port,
    chat: withPort(options.chat ?? 'http://chat.hux.localhost:PORT'),
    console: withPort(options.console ?? 'http://console.hux.localhost:PORT'),
    api: `http://127.0.0.1:${port}`,
    data,
    log: () => log,
    stop: async (signal) => {
      const code = await end(signal);
      rmSync(scratch, { recursive: true, force: true });
      return code;
    },
    restart: async () => {
      await end();
      await start();
    },
  };
}
