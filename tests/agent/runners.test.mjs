// What becomes of a call when its hook ends, by the version of the agent. No agent may run what hux has begun to look
// at, but for 0.19; and what an agent runs unasked raises the alarm.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { huxBinary, until } from '../lib/hux.mjs';
import { startHouse } from './house.mjs';
import { real, standIn } from './runners.mjs';

/** @type {import('./house.mjs').House} */
let house;
/** @type {import('../lib/hooks.mjs').Agent} */
let credentials;
const scratch = mkdtempSync(join(tmpdir(), 'hux-runners-'));

before(async () => {
  house = await startHouse();
  credentials = house.agent();
  for (const status of [1, 2, 127, 137]) script(`ends-with-${status}`, `exit ${status}`);
  script('is-killed', 'kill -9 $$');
  script('hux', `echo $$ > "${scratch}/$TRIAL.pid"\nexec ${huxBinary()} "$@"`);
});
after(async () => {
  await house?.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** @param {string} name @param {string} text */
function script(name, text) {
  writeFileSync(join(scratch, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

const hux = join(scratch, 'hux');
const all = ['0.19', '0.20', '0.21', '0.22'];
const before22 = ['0.19', '0.20', '0.21'];

/**
 * @typedef {object} Asked
 * @property {string} session
 * @property {() => void} kill  the hook
 *
 * @typedef {object} Trial
 * @property {string} name
 * @property {string} [hook]  its command; without one there is none
 * @property {number} [timeout]  seconds
 * @property {(asked: Asked) => Promise<void>} [meanwhile]
 * @property {string[]} runs  the versions that run the call
 * @property {boolean} [allowed]
 * @property {RegExp} [says]  what the model is told
 */

/** @type {Trial[]} */
const trials = [
  {
    name: 'a person allows it', hook: `${hux} hook`, runs: all, allowed: true,
    async meanwhile({ session }) { assert.equal((await house.decide(await house.pending(session), 'once')).status, 200); },
  },
  {
    name: 'a person denies it', hook: `${hux} hook`, runs: [], says: /the person has denied this/,
    async meanwhile({ session }) { assert.equal((await house.decide(await house.pending(session), 'deny')).status, 200); },
  },
  { name: 'hux can not be asked', hook: `${hux} hook --url http://127.0.0.1:9 --timeout 1s`, runs: [], says: /could not be checked/ },
  {
    name: 'the hook is killed while a person is asked', hook: `${hux} hook`, runs: ['0.19'],
    async meanwhile({ session, kill }) { await house.pending(session); kill(); },
  },
  { name: 'the hook has too little time', hook: `${hux} hook`, timeout: 3, runs: ['0.19'] },
  { name: 'the hook is missing', hook: join(scratch, 'nothing'), runs: ['0.19'] },
  { name: 'the hook ends with 2 and says nothing', hook: join(scratch, 'ends-with-2'), runs: ['0.19'] },
  { name: 'the hook is killed before it begins', hook: join(scratch, 'is-killed'), runs: before22 },
  ...[1, 127, 137].map((status) => ({
    name: `the hook ends with ${status} before it begins`, hook: join(scratch, `ends-with-${status}`), runs: before22,
  })),
  { name: 'there is no hook', runs: all }, // the last, so that when its alarm is there the others have been judged
];

const env = (/** @type {string} */ trial) => ({ ...process.env, ...variables(credentials.told), HERMES_HOME: scratch, TRIAL: trial });

/** @param {string} lines  of an environment, as hux agents create prints it @returns {Record<string, string>} */
const variables = (lines) => Object.fromEntries([...lines.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));

describe('hooks', { concurrency: 4 }, () => {
  const names = [...['0.19', '0.20', '0.22'].map((v) => `real-${v}`), ...all.map((v) => `standin-${v}`)];
  for (const name of names) {
    test(name, async (t) => {
      const [kind, version] = /** @type {['real' | 'standin', import('./runners.mjs').Version]} */ (name.split('-'));
      const runner = (kind === 'real' ? real : standIn)(version, env(name));
      t.after(() => runner.close());
      /** @type {{trial: Trial, session: string, ran: boolean}[]} */
      const done = [];
      for (const trial of trials) {
        await t.test(trial.name, async () => {
          const call = { session: `session-${randomUUID()}`, turn: `turn-${randomUUID()}`, id: `call_${randomUUID()}`, tool: 'terminal', args: { command: 'make test' } };
          const told = tells(call);
          await house.look();
          const kill = () => process.kill(Number(readFileSync(join(scratch, `${name}.pid`), 'utf8')), 'SIGKILL');
          const [blocked] = await Promise.all([
            trial.hook ? runner.run({ event: 'pre_tool_call', command: trial.hook, timeout: trial.timeout ?? 60, fail_closed: true }, told) : null,
            trial.meanwhile?.({ session: call.session, kill }),
          ]);
          assert.equal(blocked === null, trial.runs.includes(version), `blocked: ${blocked}`);
          if (trial.says) assert.match(blocked ?? '', trial.says);
          const end = { status: blocked === null ? 'ok' : 'blocked', duration_ms: 1 };
          if (version !== '0.19') { // has no webhook
            await credentials.webhook('pre_tool_call', call);
            await credentials.webhook('post_tool_call', call, end);
          }
          await runner.run({ event: 'post_tool_call', command: `${hux} hook event`, timeout: 10, fail_closed: false }, { ...told, ...end });
          done.push({ trial, session: call.session, ran: blocked === null });
        });
      }
      await t.test('what ran unasked is an alarm, and its run is stopped; nothing else is', async () => {
        const unasked = done.filter(({ trial, ran }) => ran && !trial.allowed);
        for (const { trial, session } of unasked) {
          const [alarm] = await until(async () => {
            const found = await house.events(session, 'policy.bypassed');
            return found.length > 0 ? found : undefined;
          }, { timeout: 60_000, interval: 200, what: `the alarm where ${trial.name}` });
          assert.equal(alarm.data.tool, 'terminal');
          assert.equal((await house.events(session, 'run.cancel_requested')).length, 1, trial.name);
        }
        for (const { trial, session } of done.filter((each) => !unasked.includes(each))) {
          assert.deepEqual(await house.events(session, 'policy.bypassed'), [], trial.name);
        }
        assert.deepEqual((await house.ask('/approvals?status=pending')).items.filter((/** @type {any} */ a) => done.some(({ session }) => a.provenance.session_id === session)), []);
      });
    });
  }
});

/** What an agent knows of a call. @param {import('../lib/hooks.mjs').Call} call */
const tells = ({ session, turn, id, tool, args }) =>
  ({ tool_name: tool, args, session_id: session, task_id: session, tool_call_id: id, turn_id: turn, api_request_id: `${turn}:api:1` });
