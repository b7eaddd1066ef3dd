// A whole agent: the gateway of an installed version in a home of its own, with a small model behind it.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, huxBinary, request, until } from '../lib/hux.mjs';
import { startModel } from './model.mjs';

/** The programs of a version, which tests/deps.sh has installed. @param {string} version @param {string} name */
export function program(version, name) {
  const path = fileURLToPath(new URL(`../.build/agent-${version}/bin/${name}`, import.meta.url));
  if (!existsSync(path)) throw new Error(`agent ${version} is not installed: make deps`);
  return path;
}

export const key = 'key-of-the-agents-gateway';

/**
 * What its config.yaml has apart from hooks. The length of the context is said, since the agent would look for it in
 * lists of models on the Internet; it would fetch its command scanner there too.
 * @param {string} model  its URL
 */
const ownConfig = (model) => `model:
  default: small
  provider: custom
  base_url: ${model}
  api_key: none
  context_length: 131072
security:
  tirith_enabled: false
approvals:
  mode: "off" # hux asks
`;

/** @typedef {Awaited<ReturnType<typeof startHermes>>} Hermes */

/**
 * Starts an agent and waits until its gateway answers.
 *
 * @param {object} options
 * @param {string} options.version
 * @param {number} [options.port]  where its gateway shall answer
 * @param {(config: string, hux: string) => void} options.connect  puts the hooks into the file, with the hux that they start
 */
export async function startHermes({ version, port, connect }) {
  const model = await startModel();
  const home = mkdtempSync(join(tmpdir(), `hux-agent-${version}-`));
  port ??= await freePort();
  const config = join(home, 'config.yaml');
  writeFileSync(config, ownConfig(model.url));
  writeFileSync(join(home, '.env'), `API_SERVER_ENABLED=true\nAPI_SERVER_HOST=127.0.0.1\nAPI_SERVER_PORT=${port}\nAPI_SERVER_KEY=${key}\n`);
  // The hux that its hooks start, which leaves its process id.
  mkdirSync(join(home, 'path'));
  const hux = join(home, 'path', 'hux');
  const lastHook = join(home, 'hook.pid');
  writeFileSync(hux, `#!/bin/sh\necho $$ > ${lastHook}\nexec ${huxBinary()} "$@"\n`, { mode: 0o755 });
  try {
    connect(config, hux);
  } catch (error) {
    await model.close();
    throw error;
  }
  // What it looks for beyond this machine is refused at once: nothing listens on port 9.
  const env = {
    PATH: process.env.PATH, HOME: home, HERMES_HOME: home,
    HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1',
  };

  let log = '';
  const child = spawn(program(version, 'hermes'), ['gateway', 'run'], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { log += chunk; });
  const exited = new Promise((resolve) => child.once('exit', resolve));

  const ask = (/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) =>
    request(`http://127.0.0.1:${port}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { Authorization: `Bearer ${key}`, ...(body && { 'Content-Type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(late);
    await model.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  await until(
    async () => child.exitCode !== null || (await ask('/health')).status === 200,
    { timeout: 60_000, interval: 200, what: `agent ${version} answers` },
  ).catch(async (error) => {
    await stop();
    throw new Error(`${error.message}\n${log}`);
  });

  return {
    version,
    home,
    config,
    model,
    stop,
    /** The end of what it has said. */
    log: () => [log, ...['agent.log', 'errors.log'].map((name) => join(home, 'logs', name)).filter(existsSync).map((file) => readFileSync(file, 'utf8'))]
      .map((text) => text.slice(-4000)).join('\n'),

    /** What hux agents check says of it. @returns {Promise<{status: number, text: string}>} */
    check: () => new Promise((resolve) => {
      const said = execFile(huxBinary(), ['agents', 'check', config, '--python', program(version, 'python')], { cwd: home, env },
        (_, stdout, stderr) => resolve({ status: said.exitCode ?? -1, text: stdout + stderr }));
    }),

    /** Kills the hook that was started last. */
    killHook: () => process.kill(Number(readFileSync(lastHook, 'utf8')), 'SIGKILL'),
    /** Begins a turn. @param {string} session @param {string} input @returns {Promise<string>} its id */
    async run(session, input) {
      const answer = await ask('/v1/runs', { input, session_id: session });
      if (answer.status !== 202) throw new Error(`/v1/runs: ${answer.status} ${answer.text}`);
      return answer.json().run_id;
    },
    /** How far a turn is. @param {string} run @returns {Promise<string>} */
    status: async (run) => (await ask(`/v1/runs/${run}`)).json().status,
    /** Stops a turn, as a WebUI does. @param {string} run */
    stopRun: (run) => ask(`/v1/runs/${run}/stop`, {}),
  };
}
