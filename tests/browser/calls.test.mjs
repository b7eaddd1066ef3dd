// What a person sees of calls: each is one line, whoever tells of it, and one
// that nobody had allowed is an alarm.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../lib/hux.mjs';
import { armed, composerFrame, demoWithAgent, openSession } from './agent.mjs';
import { picture, signedIn } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

const running = demoWithAgent();

/** Alice, a conversation with a run, and the whole page Activity of it. */
async function alice() {
  const { agent, hux } = running;
  const chat = await signedIn(running, 'alice', { viewport: { width: 1200, height: 900 } });
  const conversation = await agent.conversation(await openSession(chat));
  const run = await agent.run(conversation);
  const activity = await chat.context().newPage();
  await activity.goto(`${hux.console}/hux/api/ui/activity#${conversation}`);
  await activity.waitForSelector('[data-stream][data-state="live"]');
  /** What the chat's page tells of a call: @param {string} kind @param {string} id @param {Record<string, unknown>} [more] */
  const page = (kind, id, more = {}) => chat.evaluate(async ([conversation, kind, run, data]) => {
    const answer = await fetch(`/hux/v1/conversations/${conversation}/events`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ kind, status: kind === 'tool.started' ? 'started' : 'completed', summary: 'as the page has it', run_id: run, data }),
    });
    if (!answer.ok) throw new Error(await answer.text());
  }, /** @type {const} */ ([conversation, kind, run, { tool: 'read_file', tool_call_id: id, ...more }]));
  /** And the agent: @param {string} kind @param {string} id @param {Record<string, unknown>} [more] */
  const told = (kind, id, more = {}) => agent.event(conversation, run, kind, kind === 'tool.started' ? 'started' : 'completed', 'as the agent has it', { tool: 'read_file', tool_call_id: id, ...more });
  /** The lines about tools. */
  const lines = () => activity.$$eval('.event:is([data-kind="tool.started"], [data-kind="tool.finished"])', (all) => all.filter((row) => row.checkVisibility()).map((row) => row.querySelector('.what')?.textContent?.replaceAll('\u00a0', ' ')));
  return { chat, activity, conversation, run, page, told, lines };
}

test('a call is one line: its start and its end, the agent’s word and the page’s', async () => {
  const { agent } = running;
  const { chat, activity, conversation, run, page, told, lines } = await alice();
  const settled = (/** @type {string[]} */ ...wanted) => until(async () => String(await lines()) === String(wanted), { what: `the lines ${wanted}` })
    .catch(async (error) => { throw new Error(`${await lines()}`, { cause: error }); });
  const { effect } = await agent.must('POST', '/decisions', {
    conversation_id: conversation, run_id: run, tool: 'read_file', args: { path: 'a' }, target: null, tool_call_id: 'call_0123456789abcdef',
  });
  assert.equal(effect, 'allow');

  await page('tool.started', `${run}.read_file.1`);
  await settled('as the page has itTool started');
  await told('tool.started', 'call_0123456789abcdef');
  await settled('as the agent has itTool started');
  await page('tool.finished', `${run}.read_file.1`, { duration_ms: 9_000 });
  await settled('as the page has itTool finished · completed · 9.0 s');
  await told('tool.finished', 'call_0123456789abcdef', { duration_ms: 2_500 });
  await settled('as the agent has itTool finished · completed · 2.5 s');

  // A second call that the page alone has seen is a line of its own.
  await page('tool.started', `${run}.read_file.2`);
  await settled('as the agent has itTool finished · completed · 2.5 s', 'as the page has itTool started');

  // The others are told where the line opens, and a new look has the same lines.
  await activity.click('[data-kind="tool.finished"]:visible .line');
  const details = await activity.textContent('.details');
  assert.match(details ?? '', /Same callevent \d+, tool\.started; event \d+, tool\.started as your page saw it; event \d+, tool\.finished as your page saw it/);
  await picture(activity, 'calls-one-line');
  await activity.reload();
  await settled('as the agent has itTool finished · completed · 2.5 s', 'as the page has itTool started');
  await chat.context().close();
});

test('what the page saw run is the line of the call that ran, not of one that was blocked before it', async () => {
  const { chat, activity, run, page, told, lines } = await alice();
  await told('tool.finished', 'call_0000000000blocked', { blocked: true });
  await told('tool.finished', 'call_000000000000ran', { duration_ms: 2_500 });
  await page('tool.finished', `${run}.read_file.1`);
  await until(async () => (await activity.locator('[data-kind="tool.finished"]').count()) === 3, { what: 'all are told' });
  assert.equal((await lines()).length, 2);
  const rows = activity.locator('[data-kind="tool.finished"]:visible');
  for (const n of [0, 1]) await rows.nth(n).locator('.line').click();
  assert.doesNotMatch(await rows.nth(0).innerText(), /Same call/);
  assert.match(await rows.nth(1).innerText(), /Same call\s+event \d+, tool\.finished as your page saw it/);
  await chat.context().close();
});

test('a call that nobody had allowed is an alarm in the chat, in Activity and on Decisions', async () => {
  const { agent, hux } = running;
  const { chat, activity, conversation, told } = await alice();
  await told('tool.finished', 'call_fedcba9876543210', { tool: 'terminal', duration_ms: 20 });
  const composer = await composerFrame(chat);
  await chat.bringToFront();
  const words = `.alarm:has-text("Ran without being allowed: terminal"):has(a[href$="${conversation}"])`;
  await composer.waitForSelector(words, { timeout: 20_000 });
  await picture(chat, 'alarm-chat');
  await activity.bringToFront();
  await activity.click('[data-filter="decision"]');
  await activity.waitForSelector('.run.alarmed .event.alarm:has-text("Ran without being allowed: terminal")');
  await activity.waitForSelector(`[data-decisions] ${words}`);
  await picture(activity, 'alarm-activity');

  // All conversations, in a page that is opened afterwards.
  const decisions = await chat.context().newPage();
  await decisions.goto(`${hux.console}/hux/api/ui/decisions`);
  const alarm = decisions.locator(words);
  await alarm.waitFor();
  await picture(decisions, 'alarm-decisions');
  await alarm.getByRole('button', { name: 'Close' }).click();
  await decisions.waitForSelector(words, { state: 'detached' });

  // It takes no card's place.
  const { approval_id: id } = await agent.ask(conversation, await agent.run(conversation));
  await armed(composer, id);
  await picture(chat, 'alarm-and-card');
  await composer.click(`${words} button`);
  await composer.waitForSelector(words, { state: 'detached' });
  await chat.context().close();
});
