// What Hermes does about a tool call besides running the tool: it starts the shell hooks of its config.yaml, without a
// shell and with the call on standard input, and sends its webhooks. The commands are those that hux is built to be.
import { execFileSync, spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { huxBinary, request } from './hux.mjs';

/**
 * @typedef {object} Call  a tool call of a run, as Hermes names it
 * @property {string} session  of Hermes
 * @property {string} turn
 * @property {string} id
 * @property {string} tool
 * @property {Record<string, unknown>} args
 */

/** An agent of a slot, made as an operator makes one, with what its Hermes has in its config.yaml. */
export class Agent {
  /**
   * @param {import('./hux.mjs').Hux} hux
   * @param {string} slot
   */
  constructor(hux, slot) {
    this.hux = hux;
    /** What its operator is told, as an environment. */
    this.told = this.#run(['create', slot, 'the agent of the tests', '--env', '--url', hux.api]);
    const home = mkdtempSync(join(tmpdir(), 'hux-hermes-'));
    process.once('exit', () => rmSync(home, { recursive: true, force: true }));
    this.install(join(home, 'config.yaml'));
    this.config = readFileSync(join(home, 'config.yaml'), 'utf8');
    this.credential = readFileSync(join(home, 'hux', 'credential'), 'utf8').trim();
    this.secret = readFileSync(join(home, 'hux', 'hook-secret'), 'utf8').trim();
    this.env = { PATH: process.env.PATH };
  }

  /** @param {string[]} args @param {string} [input] */
  #run(args, input = '') {
    return execFileSync(huxBinary(), ['agents', ...args], {
      env: { ...process.env, HUX_DATA: this.hux.data }, encoding: 'utf8', input, stdio: 'pipe',
    });
  }

  /** Puts hux into a config.yaml. @param {string} file @param {string} [program]  the hux that its Hermes starts */
  install(file, program = huxBinary()) {
    this.#run(['install', file, '--from', '-', '--yes', '--program', program], this.told);
  }

  /**
   * Asks the pre_tool_call hook; gives the reason why the call is blocked, or null.
   * @param {Call} call
   * @returns {Promise<string | null>}
   */
  async mayRun(call) {
    const answer = await this.#start('pre_tool_call', [], shape('pre_tool_call', call));
    return answer.decision === 'block' ? answer.reason : null;
  }

  /** Starts the post_tool_call hook. @param {Call} call @param {Record<string, unknown>} facts */
  async hasRun(call, facts) {
    await this.#start('post_tool_call', ['event'], shape('post_tool_call', call, facts));
  }

  /**
   * Sends the webhook, as often as it is told: an answer may be lost.
   * @param {'pre_tool_call' | 'post_tool_call'} event
   * @param {Call} call
   * @param {Record<string, unknown>} facts
   */
  async webhook(event, call, facts = {}, times = 1) {
    const url = /url: "([^"]+)"/.exec(this.config)?.[1] ?? '';
    const body = JSON.stringify({ ...shape(event, call, facts), delivery_id: randomUUID(), timestamp: new Date().toISOString() });
    const headers = {
      'Content-Type': 'application/json',
      'X-Hermes-Event': event,
      'X-Hermes-Signature-256': `sha256=${createHmac('sha256', this.secret).update(body).digest('hex')}`,
    };
    for (let n = 0; n < times; n++) {
      const { status, text } = await request(url, { method: 'POST', headers, body });
      if (status !== 204) throw new Error(`the webhook: ${status} ${text}`);
    }
  }

  /** @param {string} event  whose command config.yaml has @param {string[]} words @param {object} input */
  async #start(event, words, input) {
    const [binary, ...args] = /command: "(.+)"/.exec(this.config.slice(this.config.indexOf(`${event}:`)))?.[1].split(' ') ?? [];
    if (['hook', ...words].some((word, i) => args[i] !== word)) throw new Error(`no ${event} hook in\n${this.config}`);
    const child = spawn(binary, args, { env: this.env, stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk) => { text += chunk; });
    const status = new Promise((resolve) => child.on('close', resolve));
    child.stdin.end(JSON.stringify(input));
    if (await status !== 0) throw new Error(`the hook ended with ${await status}: ${text}`);
    return JSON.parse(text);
  }
}

/** What a hook and a webhook are told. @param {string} event @param {Call} call @param {Record<string, unknown>} facts */
function shape(event, { session, turn, id, tool, args }, facts = {}) {
  return {
    hook_event_name: event, tool_name: tool, tool_input: args, session_id: session, cwd: '/home/agent', profile: 'default',
    extra: { task_id: session, tool_call_id: id, turn_id: turn, api_request_id: randomUUID(), ...facts },
  };
}
