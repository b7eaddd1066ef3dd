// What starts the hooks of an agent, by its version: that of an installed one, and stand-ins that are written after how
// each behaves. A test holds the stand-ins to the real ones, where there is one.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { program } from './hermes.mjs';

/**
 * @typedef {'0.19' | '0.20' | '0.21' | '0.22'} Version
 *
 * @typedef {object} Hook    an entry of config.yaml
 * @property {'pre_tool_call' | 'post_tool_call'} event
 * @property {string} command
 * @property {number} timeout  seconds
 * @property {boolean} fail_closed
 *
 * @typedef {Record<string, any>} Told  what the agent tells its hook: tool_name, args, session_id, and what goes into extra
 *
 * @typedef {object} Runner
 * @property {string} name
 * @property {Version} version
 * @property {(hook: Hook, told: Told) => Promise<string | null>} run  gives why the call is blocked, or null
 * @property {() => void} close
 */

/** Of the installed agent. @param {Version} version @param {NodeJS.ProcessEnv} env @returns {Runner} */
export function real(version, env) {
  const child = spawn(program(version, 'python'), [fileURLToPath(new URL('run_hooks.py', import.meta.url))],
    { env, stdio: ['pipe', 'pipe', 'ignore'] });
  /** @type {((line: string) => void)[]} */
  const waiting = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  child.once('exit', () => waiting.splice(0).forEach((answer) => answer('"it has ended"')));
  return {
    name: `the runner of agent ${version}`,
    version,
    async run(hook, told) {
      const line = await new Promise((/** @type {(line: string) => void} */ resolve) => {
        waiting.push(resolve);
        child.stdin.write(`${JSON.stringify([hook, told])}\n`);
      });
      const parsed = JSON.parse(line);
      if (typeof parsed === 'string') throw new Error(`the runner of agent ${version}: ${parsed}`);
      return parsed?.action === 'block' ? parsed.message : null;
    },
    close: () => child.kill(),
  };
}

/** Written after a version. @param {Version} version @param {NodeJS.ProcessEnv} env @returns {Runner} */
export function standIn(version, env) {
  return {
    name: `a stand-in for the runner of agent ${version}`,
    version,
    async run(hook, told) {
      const end = await start(hook, told, env);
      if (hook.event !== 'pre_tool_call') return null;
      const said = directive(end.stdout);
      if (said) return said;
      if (version === '0.19') return null; // knows neither fail_closed nor status 2
      const unfit = [
        end.failed,
        end.status === 2 && 'status 2',
        end.stdout.trim() !== '' && !isObject(end.stdout) && 'what it printed is no JSON',
        version === '0.22' && end.status !== 0 && 'it ended badly and said nothing', // the one thing that 0.20 and 0.21 let pass
      ].find(Boolean);
      return unfit && (hook.fail_closed || end.status === 2) ? unfit : null;
    },
    close() {},
  };
}

/** @param {Hook} hook @param {Told} told @param {NodeJS.ProcessEnv} env */
async function start(hook, { tool_name, args, session_id, ...extra }, env) {
  const [file, ...words] = hook.command.split(' ');
  const child = spawn(file, words, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const end = { stdout: '', failed: '', status: /** @type {number | null} */ (null) };
  child.stdout.on('data', (chunk) => { end.stdout += chunk; });
  child.stdin.on('error', () => {}); // it may end without reading
  const timer = setTimeout(() => { end.failed = 'timed out'; child.kill('SIGKILL'); }, hook.timeout * 1000);
  const over = new Promise((resolve) => {
    child.once('error', () => { end.failed = 'it could not be started'; resolve(undefined); });
    child.once('close', (status) => { end.status = status; resolve(undefined); });
  });
  child.stdin.end(JSON.stringify({ hook_event_name: hook.event, tool_name, tool_input: args, session_id, cwd: '/', profile: 'default', extra }));
  await over;
  clearTimeout(timer);
  if (end.failed) end.stdout = ''; // what one printed that timed out is not read
  return end;
}

/** @param {string} text */
function isObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Why a hook's answer blocks, or "". @param {string} text */
function directive(text) {
  if (!isObject(text)) return '';
  const { action, message, decision, reason } = JSON.parse(text);
  return action === 'block' || decision === 'block' ? message ?? reason ?? 'blocked' : '';
}
