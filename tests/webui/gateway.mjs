// A stand-in for the agent's gateway: the part of its HTTP API that the WebUI speaks when its chat backend is
// "gateway" with the runs API. No model is behind it; a script decides what each run says. It is a party of the
// tests only, so that the WebUI's own code is the one under test.
//
// In a test the script is a function that the test drives (see Run). Started by itself,
//   node gateway.mjs PORT KEY
// it repeats every message word by word and asks for an approval when the message begins with "run ".
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

/** @typedef {import('node:http').IncomingMessage} Req */
/** @typedef {import('node:http').ServerResponse} Res */
/** @typedef {'running' | 'waiting_for_approval' | 'stopping' | 'completed' | 'failed' | 'cancelled'} Status */

/** One turn of the agent. A script calls its methods; what they say is kept, so that a late reader misses nothing. */
export class Run {
  /** @type {string[]} */
  #frames = [];
  /** @type {Set<Res>} */
  #readers = new Set();
  /** @type {Map<string, (choice: string) => void>} */
  #approvals = new Map();
  /** @type {() => void} */
  #pressStop = () => {};

  /**
   * @param {any} request  the body of POST /v1/runs
   * @param {import('node:http').IncomingHttpHeaders} headers  and its headers
   */
  constructor(request, headers) {
    this.id = `run_${randomBytes(16).toString('hex')}`;
    this.request = request;
    this.headers = headers;
    /** @type {Status} */
    this.status = 'running';
    /** Resolves when the person pressed stop. @type {Promise<void>} */
    this.stopped = new Promise((resolve) => { this.#pressStop = resolve; });
  }

  /** The text of the turn, whether it came as a string or as message parts. @returns {string} */
  get text() {
    const { input } = this.request;
    if (typeof input === 'string') return input;
    const content = input?.at(-1)?.content ?? '';
    if (typeof content === 'string') return content;
    return content.map((/** @type {{text?: string}} */ part) => part.text ?? '').join('\n');
  }

  get done() {
    return ['completed', 'failed', 'cancelled'].includes(this.status);
  }

  /** @param {string} delta */
  say(delta) {
    this.#emit('message.delta', { delta });
  }

  /** @param {string} text */
  think(text) {
    this.#emit('reasoning.available', { text });
  }

  /** @param {string} tool @param {string} preview */
  toolStarted(tool, preview) {
    this.#emit('tool.started', { tool, preview });
  }

  /** @param {string} tool @param {string} preview */
  toolCompleted(tool, preview, error = false) {
    this.#emit('tool.completed', { tool, preview, duration: 0.01, error });
  }

  /**
   * Asks the person about a command.
   * @param {string} command
   * @param {string} description
   * @returns {Promise<string>} once, session, always or deny
   */
  async ask(command, description) {
    const id = randomBytes(16).toString('hex');
    this.status = 'waiting_for_approval';
    const answer = new Promise((/** @type {(choice: string) => void} */ resolve) => this.#approvals.set(id, resolve));
    this.#emit('approval.request', {
      approval_id: id,
      request_id: id,
      command,
      description,
      pattern_key: 'recursive delete',
      pattern_keys: ['recursive delete'],
      allow_permanent: true,
      allow_session: true,
      choices: ['once', 'session', 'always', 'deny'],
    });
    const choice = await answer;
    if (!this.done) this.status = 'running';
    this.#emit('approval.responded', { choice, request_id: id, resolved: 1 });
    return choice;
  }

  complete(output = '') {
    this.#end('completed', { completed: true, output, usage: { input_tokens: 12, output_tokens: 7, total_tokens: 19 } });
  }

  /** @param {string} error */
  fail(error) {
    this.#end('failed', { error });
  }

  cancel() {
    this.#end('cancelled', {});
  }

  /**
   * Answers the named approval, or the oldest one when none is named.
   * @param {string | undefined} id
   * @param {string} choice
   * @returns {boolean} whether there was one
   */
  respond(id, choice) {
    const key = id ?? this.#approvals.keys().next().value ?? '';
    const answer = this.#approvals.get(key);
    this.#approvals.delete(key);
    answer?.(choice);
    return answer !== undefined;
  }

  stop() {
    this.status = 'stopping';
    this.#pressStop();
  }

  /** Writes all events so far, then the rest as it happens. @param {Res} res */
  follow(res) {
    for (const frame of this.#frames) res.write(frame);
    if (this.done) {
      res.end(': stream closed\n\n');
      return;
    }
    this.#readers.add(res);
    res.on('close', () => this.#readers.delete(res));
  }

  /** @param {string} event @param {Record<string, unknown>} fields */
  #emit(event, fields) {
    const data = { event, run_id: this.id, timestamp: Date.now() / 1000, ...fields };
    const frame = `id: ${this.#frames.length + 1}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#frames.push(frame);
    for (const res of this.#readers) res.write(frame);
  }

  /** @param {Status} status @param {Record<string, unknown>} fields */
  #end(status, fields) {
    if (this.done) return;
    this.status = status;
    this.#emit(`run.${status}`, fields);
    for (const res of this.#readers) res.end(': stream closed\n\n');
    this.#readers.clear();
  }
}

/** Repeats the message word by word; a message beginning with "run " asks first. @param {Run} run */
export async function echo(run) {
  const text = run.text;
  if (text.startsWith('run ')) {
    run.toolStarted('terminal', text.slice(4));
    const choice = await run.ask(text.slice(4), 'deletes files');
    run.toolCompleted('terminal', choice, choice === 'deny');
  }
  for (const word of text.split(/(?<= )/)) run.say(word);
  run.complete();
}

/** A gateway on 127.0.0.1. Every request must carry its key, as the real one demands. */
export class Gateway {
  /** @type {((run: Run) => void)[]} */
  #waiting = [];

  /** @param {string} key */
  constructor(key) {
    this.key = key;
    /** Every run so far, oldest first. @type {Run[]} */
    this.runs = [];
    /** Requests refused for a wrong key. */
    this.refused = 0;
    this.server = createServer((req, res) => {
      this.#serve(req, res).catch((error) => send(res, 500, { error: { message: String(error) } }));
    });
  }

  get url() {
    const address = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    return `http://127.0.0.1:${address.port}`;
  }

  /** Makes the next run wait for the caller, who then speaks through it. @returns {Promise<Run>} */
  take() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async close() {
    for (const run of this.runs) run.cancel();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** @param {Req} req @param {Res} res */
  async #serve(req, res) {
    const { pathname } = new URL(req.url ?? '/', this.url);
    const route = `${req.method} ${pathname}`;
    if (route === 'GET /health' || route === 'GET /v1/health') {
      return send(res, 200, { status: 'ok', platform: 'hermes-agent', version: '0.0.0-standin' });
    }
    if (req.headers.authorization !== `Bearer ${this.key}`) {
      this.refused++;
      return send(res, 401, { error: { message: 'wrong key', type: 'gateway_auth_error', code: 'gateway_auth_failed' } });
    }
    if (route === 'GET /v1/capabilities') {
      return send(res, 200, {
        object: 'hermes.api_server.capabilities',
        features: { run_events_sse: true, run_stop: true, run_approval_response: true, approval_events: true, approval_identity_v1: true },
      });
    }
    if (route === 'GET /v1/models') {
      return send(res, 200, { object: 'list', data: [{ id: 'hermes-agent', object: 'model', owned_by: 'hermes' }] });
    }
    if (route === 'POST /v1/runs') {
      const run = new Run(JSON.parse(await read(req)), req.headers);
      this.runs.push(run);
      send(res, 202, { run_id: run.id, status: 'started', replayed: false });
      const taken = this.#waiting.shift();
      if (taken) taken(run);
      else await echo(run);
      return;
    }
    const [, id, action = ''] = /^\/v1\/runs\/([^/]+)(?:\/([a-z]+))?$/.exec(pathname) ?? [];
    const run = this.runs.find((r) => r.id === id);
    if (!run) return send(res, 404, { error: { message: 'no such thing', type: 'invalid_request_error', code: 'not_found' } });
    switch (`${req.method} ${action}`) {
      case 'GET ':
        return send(res, 200, { object: 'hermes.run', run_id: run.id, status: run.status, session_id: run.request.session_id });
      case 'GET events':
        res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
        return run.follow(res);
      case 'POST approval': {
        const { choice, approval_id: approval, request_id: wanted } = JSON.parse(await read(req));
        if (!run.respond(wanted ?? approval, choice)) {
          return send(res, 409, { error: { message: 'nothing is pending', type: 'invalid_request_error', code: 'approval_not_pending' } });
        }
        return send(res, 200, { object: 'hermes.run.approval_response', run_id: run.id, choice, resolved: 1 });
      }
      case 'POST stop':
        run.stop();
        send(res, 200, { run_id: run.id, status: 'stopping' });
        return run.cancel();
      default:
        return send(res, 405, { error: { message: 'method not allowed', type: 'invalid_request_error', code: 'method_not_allowed' } });
    }
  }
}

/**
 * Starts a gateway.
 * @param {{key: string, port?: number}} options
 */
export async function startGateway({ key, port = 0 }) {
  const gateway = new Gateway(key);
  await new Promise((resolve) => gateway.server.listen(port, '127.0.0.1', () => resolve(undefined)));
  return gateway;
}

/** @param {Req} req */
async function read(req) {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks).toString() || '{}';
}

/** @param {Res} res @param {number} status @param {unknown} body */
function send(res, status, body) {
  const text = JSON.stringify(body);
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  res.end(text);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [port = '8642', key = 'stand-in-gateway-key'] = process.argv.slice(2);
  const gateway = await startGateway({ key, port: Number(port) });
  console.log(`stand-in gateway on ${gateway.url}`);
}
