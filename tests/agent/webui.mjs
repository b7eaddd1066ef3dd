// A stand-in for the WebUI of a slot, as far as hux speaks with it when no page is open: its health, that nothing waits
// for an approval, and the stop of a turn, which it passes on to the agent. A test is the page.
import { createServer } from 'node:http';

/** @typedef {import('./hermes.mjs').Hermes} Hermes */

export class WebUI {
  /** Turns by their names at the WebUI. @type {Map<string, {agent: Hermes, run: string}>} */
  #turns = new Map();

  constructor() {
    this.server = createServer((req, res) => {
      this.#serve(req, res).catch(() => res.writeHead(500).end());
    });
  }

  get url() {
    const address = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    return `http://127.0.0.1:${address.port}`;
  }

  /** Notes that a turn is under way. @param {string} stream @param {Hermes} agent @param {string} run */
  begun(stream, agent, run) {
    this.#turns.set(stream, { agent, run });
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res */
  async #serve(req, res) {
    const { pathname, searchParams } = new URL(req.url ?? '/', this.url);
    const json = (/** @type {object} */ body) => res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    const turn = this.#turns.get(searchParams.get('stream_id') ?? '');
    switch (pathname) {
      case '/health':
        return json({ status: 'ok' });
      case '/api/sessions':
        return json({ sessions: [] });
      case '/api/sessions/events':
        return res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': here\n\n');
      case '/api/session/status':
        return json({ active_stream_id: null });
      case '/api/approval/pending':
        return json({ pending: null });
      case '/api/chat/cancel':
        return json({ cancelled: turn !== undefined && (await turn.agent.stopRun(turn.run)).status === 200 });
      case '/api/chat/stream/status':
        return json({
          active: turn !== undefined && !['completed', 'failed', 'cancelled'].includes(await turn.agent.status(turn.run)),
          replay_available: turn !== undefined,
        });
      default:
        return res.writeHead(404).end();
    }
  }
}

export async function startWebUI() {
  const webui = new WebUI();
  await new Promise((resolve) => webui.server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return webui;
}
