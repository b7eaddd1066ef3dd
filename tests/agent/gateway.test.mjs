// Whole agents behind hux: a small model wants to run a command, the hook asks, a person decides, and the machine shows
// whether the command has run.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { startHermes } from './hermes.mjs';
import { startHouse } from './house.mjs';

/** @typedef {import('./hermes.mjs').Hermes} Hermes */

/** @type {import('./house.mjs').House} */
let house;
/** @type {import('../lib/hooks.mjs').Agent} */
let credentials;

/** A time to wait of config.yaml, and the seconds that it has instead. @typedef {[name: string, seconds: number]} Limit */

/** @param {string} version @param {Limit} [limit] */
function start(version, limit) {
  return startHermes({
    version,
    connect(file, hux) {
      credentials.install(file, hux);
      if (!limit) return;
      const [name, seconds] = limit;
      const text = readFileSync(file, 'utf8');
      const changed = text.replace(new RegExp(`(?<=\\b${name}: )\\d+`), String(seconds));
      assert.notEqual(changed, text, `no ${name} in\n${text}`);
      writeFileSync(file, changed);
    },
  });
}

const within = { timeout: 100_000, interval: 100 };

/** A turn of an agent in a session of its own, whose page has told hux of it. */
class Turn {
  /** @param {Hermes} agent */
  constructor(agent) {
    this.agent = agent;
    this.session = `session-${randomUUID()}`;
    this.stream = randomUUID().replaceAll('-', '');
    this.run = '';
  }

  /** A file that a command makes. @param {string} name */
  file(name) { return join(this.agent.home, `${this.session}-${name}`); }

  /** Begins it: the model wants to run these commands, one after the other. @param {(string | {args: string})[]} commands */
  async begin(...commands) {
    this.agent.model.script(this.session, ...commands.map((command) => ({ tool: 'terminal', args: typeof command === 'string' ? { command } : command.args })));
    await house.look();
    await house.page(this.session, this.stream);
    this.run = await this.agent.run(this.session, `Make a file (${this.session})`);
    house.webui.begun(this.stream, this.agent, this.run);
  }

  /** Waits until it has ended at the agent. @param {string} how */
  async ended(how) {
    const over = ['completed', 'failed', 'cancelled', 'interrupted'];
    await until(async () => over.includes(await this.agent.status(this.run)), { ...within, what: 'the turn ends' });
    assert.equal(await this.agent.status(this.run), how, this.agent.log());
  }

  pending() { return house.pending(this.session); }

  /** What the model was told of its commands. */
  results() { return this.agent.model.results(this.session); }

  /** @param {string} kind */
  events(kind) { return house.events(this.session, kind); }

  async #cancelPath() { return `/conversations/${await house.conversation(this.session)}/runs/${this.stream}/cancel`; }

  /** Stops it, as alice does. */
  async stop() { await house.ask(await this.#cancelPath(), {}); }

  /** Waits for the receipt of its stop. */
  async receipt() {
    const path = await this.#cancelPath();
    const { receipt_id: id } = await until(async () => {
      const stop = await house.ask(path);
      return stop.receipt_id ? stop : undefined;
    }, { ...within, timeout: 45_000, what: 'the receipt' });
    return house.ask(`/receipts/${id}`);
  }
}

/** Waits for the alarm about a turn, and for its stop at the agent. @param {Turn} turn */
async function alarmed(turn) {
  const [alarm] = await until(async () => {
    const all = await turn.events('policy.bypassed');
    return all.length > 0 ? all : undefined;
  }, { ...within, what: 'the alarm' });
  assert.equal(alarm.run_id, turn.stream);
  await turn.ended('cancelled');
  const { outcome, side_effects: effects } = await turn.receipt();
  assert.equal(outcome, 'stopped');
  const ran = (await turn.events('tool.finished')).filter((/** @type {any} */ end) => !end.data.blocked);
  assert.ok(ran.length > 0);
  assert.deepEqual(effects.map((/** @type {any} */ effect) => effect.evidence_ref.id), ran.map(({ data }) => data.tool_call_id));
  assert.equal((await turn.events('policy.bypassed')).length, 1);
}

/** Turns in which nothing ran that was not allowed. @type {Turn[]} */
const turns = [];

before(async () => {
  house = await startHouse();
  credentials = house.agent();
});
after(() => house?.close());

/**
 * Cases of one agent, which runs while they do.
 * @param {string} name
 * @param {string} version
 * @param {Limit | undefined} limit
 * @param {(agent: () => Hermes) => void} cases
 */
function withAgent(name, version, limit, cases) {
  describe(name, { concurrency: 1 }, () => {
    /** @type {Hermes} */
    let agent;
    before(async () => { agent = await start(version, limit); });
    after(() => agent?.stop());
    cases(() => agent);
  });
}

/** What holds of every version. @param {() => Hermes} agent */
function casesOfAll(agent) {
  test('what a person allows runs, what they deny does not, and the model is told', async () => {
    for (const choice of ['once', 'deny']) {
      const turn = new Turn(agent());
      await turn.begin(`touch ${turn.file('made')}`);
      const approval = await turn.pending();
      assert.equal(approval.request.args_redacted.command, `touch ${turn.file('made')}`);
      assert.equal(approval.run_id, turn.stream);
      assert.ok(!existsSync(turn.file('made')));
      const answer = await house.decide(approval, choice);
      assert.equal(answer.status, 200, answer.text);
      await turn.ended('completed');
      assert.equal(existsSync(turn.file('made')), choice === 'once');
      assert.match(turn.results()[0], choice === 'once' ? /"exit_code": 0/ : /the person has denied this/);
      const [told] = await turn.events('tool.finished');
      assert.equal(told.status, choice === 'once' ? 'completed' : 'failed');
      turns.push(turn);
    }
  });

  test('a stop ends what waits for a person', async () => {
    const turn = new Turn(agent());
    await turn.begin(`touch ${turn.file('made')}`);
    const approval = await turn.pending();
    await turn.stop();
    await turn.ended('cancelled');
    const { outcome, side_effects: effects } = await turn.receipt();
    assert.deepEqual([outcome, effects], ['stopped', []]);
    await house.tooLate(approval);
    assert.ok(!existsSync(turn.file('made')));
    turns.push(turn);
  });

  test('a stop ends what runs, and the receipt says what had begun', async () => {
    const turn = new Turn(agent());
    await turn.begin(`touch ${turn.file('begun')}; sleep 60; touch ${turn.file('made')}`);
    await house.decide(await turn.pending(), 'once');
    await until(() => existsSync(turn.file('begun')), { ...within, what: 'the command begins' });
    await turn.stop();
    await turn.ended('cancelled');
    const { outcome, side_effects: effects } = await turn.receipt();
    assert.equal(outcome, 'stopped');
    assert.deepEqual(effects.map((/** @type {any} */ effect) => [effect.kind, effect.summary]), [['process', 'terminal has ended']]);
    assert.ok(!existsSync(turn.file('made')));
    turns.push(turn);
  });
}

/**
 * What `hux agents check` finds wrong with an agent.
 * @param {() => Hermes} agent
 * @param {RegExp[]} wrong
 * @param {RegExp} [ok]  what it finds right besides
 */
function checkSays(agent, wrong, ok) {
  test('hux agents check says what becomes of a call whose hook fails', async () => {
    const { status, text } = await agent().check();
    const found = text.split('\n').filter((line) => line.startsWith('wrong'));
    assert.equal(found.length, wrong.length, text);
    wrong.forEach((pattern, n) => assert.match(found[n], pattern));
    if (ok) assert.match(text, ok);
    assert.equal(status, wrong.length > 0 ? 1 : 0, text);
  });
}

/** Begins a turn whose first command makes a file, and whose second would go on for long. @param {Hermes} agent */
async function beginTwo(agent) {
  const turn = new Turn(agent);
  await turn.begin(`touch ${turn.file('made')}; exit 3`, `touch ${turn.file('begun')}; sleep 60`);
  return { turn, approval: await turn.pending() };
}

describe('agents', { concurrency: true }, () => {
  withAgent('0.19', '0.19', undefined, (agent) => {
    casesOfAll(agent);
    checkSays(agent, [
      /Hermes 0\.19\.0 is below 0\.20\.1, the least version/, /runs a call whose hook was killed/, /runs a call whose hook can't be started/,
    ]);

    test('a hook that is killed: the call runs, the alarm comes, and the turn is stopped', async () => {
      const { turn, approval } = await beginTwo(agent());
      agent().killHook();
      await until(() => existsSync(turn.file('made')), { ...within, what: 'the call runs' });
      await alarmed(turn);
      assert.ok(!existsSync(turn.file('begun')));
      await house.tooLate(approval);
    });
  });

  withAgent('0.19 whose hook has 4 s', '0.19', ['timeout', 4], (agent) => {
    test('the call runs, the alarm comes, and the turn is stopped', async () => {
      const { turn, approval } = await beginTwo(agent());
      await until(() => existsSync(turn.file('made')), { ...within, what: 'the call runs' });
      await alarmed(turn);
      await house.tooLate(approval);
    });
  });

  withAgent('0.22', '0.22', undefined, (agent) => {
    casesOfAll(agent);
    checkSays(agent, [], /^ok +a hook that is killed blocks its call$/m);

    test('a hook that is killed: the call is blocked, and what was asked is settled', async () => {
      const { turn, approval } = await beginTwo(agent());
      agent().killHook();
      await house.tooLate(approval);
      await house.decide(await turn.pending(), 'deny');
      await turn.ended('completed');
      assert.match(turn.results()[0], /failed closed/);
      assert.ok(!existsSync(turn.file('made')));
      turns.push(turn);
    });

    test('what the model writes as arguments may be none: nothing runs, and it is no alarm', async () => {
      const turn = new Turn(agent());
      await turn.begin({ args: '["no object"]' });
      await turn.ended('completed');
      assert.match(turn.results()[0], /Invalid tool arguments/);
      await until(async () => (await turn.events('tool.finished')).length > 0, { ...within, what: 'the end is told' });
      turns.push(turn);
    });
  });

  withAgent('0.22 whose callbacks have 4 s', '0.22', ['hook_callback_timeout', 4], (agent) => {
    checkSays(agent, [/hook_callback_timeout/, /ends a hook after 4 s, while a person is asked/]);

    test('no call runs, the next is blocked unasked, and what was asked is settled', async () => {
      const { turn, approval } = await beginTwo(agent());
      await turn.ended('completed');
      await house.tooLate(approval);
      assert.equal(turn.results().length, 2);
      for (const result of turn.results()) assert.match(result, /timed out or is still running/);
      assert.ok(!existsSync(turn.file('made')) && !existsSync(turn.file('begun')));
      turns.push(turn);
    });
  });
});

test('where nothing ran that was not allowed, there is no alarm', async () => {
  // Once the last is there, what was told before it has been judged.
  const session = `session-${randomUUID()}`;
  await credentials.hasRun({ session, turn: 'the-last', id: `call_${randomUUID()}`, tool: 'terminal', args: { command: 'true' } }, { status: 'ok' });
  await until(async () => (await house.events(session, 'policy.bypassed')).length > 0, { ...within, what: 'the last alarm' });
  assert.equal(turns.length, 11);
  for (const turn of turns) assert.deepEqual(await turn.events('policy.bypassed'), [], turn.session);
});
