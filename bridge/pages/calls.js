// The calls of a run, as its events tell of them: each is told of when it
// begins and when it ends, by the agent and by the page that watches, which
// behind a gateway knows it by another id.

/** @typedef {import('./stream.js').HuxEvent} HuxEvent */

/**
 * A call: the event that says most of it, the others, and how long it took, in
 * ms, where that is known.
 *
 * @typedef {{line: HuxEvent, others: HuxEvent[], took: number | undefined}} Call
 */

/**
 * @param {HuxEvent[]} events  of a run, in order
 * @returns {Call[]}
 */
export function callsOf(events) {
  /** @type {Map<string, {agent: Map<string, HuxEvent[]>, page: Map<string, HuxEvent[]>}>} by tool, then by the call’s id */
  const tools = new Map();
  for (const event of events) {
    if (event.tombstone || (event.kind !== 'tool.started' && event.kind !== 'tool.finished')) continue;
    const tool = String(event.data?.tool);
    const id = String(event.data?.tool_call_id ?? event.id); // without one it is a call of its own
    const told = tools.get(tool) ?? { agent: new Map(), page: new Map() };
    tools.set(tool, told);
    const by = event.reported_by === 'page' ? told.page : told.agent;
    by.set(id, [...by.get(id) ?? [], event]);
  }
  return [...tools.values()].flatMap(({ agent, page }) => {
    // What a page saw under another id is the agent's next call of that tool. Of one that was blocked a gateway may tell
    // it nothing.
    const seen = [...page.keys()].filter((id) => !agent.has(id));
    const rest = [...agent.keys()].filter((id) => !page.has(id));
    const blocked = (/** @type {string} */ id) => Number(agent.get(id)?.some(({ data }) => data?.blocked === true));
    if (seen.length < rest.length) rest.sort((a, b) => blocked(a) - blocked(b));
    const twins = new Map(rest.map((id, n) => [id, seen[n]]));
    const calls = [...agent].map(([id, told]) => [...told, ...page.get(twins.get(id) ?? id) ?? []]);
    return [...calls, ...seen.slice(twins.size).map((id) => page.get(id) ?? [])].map(callOf);
  });
}

/**
 * @param {HuxEvent[]} told  the agent's word first
 * @returns {Call}
 */
function callOf(told) {
  const start = told.find(({ kind }) => kind === 'tool.started');
  const end = told.find(({ kind }) => kind === 'tool.finished');
  const line = /** @type {HuxEvent} */ (end ?? start);
  const took = end?.data?.duration_ms;
  return {
    line,
    others: told.filter((event) => event !== line),
    took: typeof took === 'number' ? took : end && start ? Date.parse(end.created_at) - Date.parse(start.created_at) : undefined,
  };
}
