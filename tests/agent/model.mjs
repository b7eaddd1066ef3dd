// A small model: it says what a test has it say, as OpenAI's chat completions do. An agent can't tell it from a real one.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * @typedef {object} Call   a tool call
 * @property {string} tool
 * @property {Record<string, unknown> | string} args  as an object, or as the text that the model writes for it
 *
 * @typedef {object} Message  of a request, as OpenAI has it
 * @property {string} role
 * @property {string | null} content
 */

export class Model {
  /** @type {Map<string, (Call | string)[]>} */
  #scripts = new Map();
  /** @type {Map<string, Message[]>} */
  #heard = new Map();

  constructor() {
    this.server = createServer((req, res) => {
      this.#serve(req, res).catch((error) => res.destroy(error));
    });
  }

  get url() {
    const address = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    return `http://127.0.0.1:${address.port}/v1`;
  }

  /**
   * Takes what to say in a conversation, one for each of its requests, then "Done."; it is known by the person's text.
   * @param {string} text
   * @param {(Call | string)[]} replies
   */
  script(text, ...replies) {
    this.#scripts.set(text, replies);
  }

  /** What the agent has told of the tools of a conversation. @param {string} text */
  results(text) {
    return (this.#heard.get(text) ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content ?? '');
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res */
  async #serve(req, res) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const json = (/** @type {unknown} */ body, status = 200) =>
      res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (req.method === 'GET' && req.url === '/v1/models') {
      return json({ object: 'list', data: [{ id: 'small', object: 'model', owned_by: 'tests' }] });
    }
    if (req.method !== 'POST' || req.url !== '/v1/chat/completions') return json({ error: { message: 'no such thing' } }, 404);

    const request = JSON.parse(Buffer.concat(chunks).toString());
    const reply = this.#reply(request);
    const message = typeof reply === 'string' ? { role: 'assistant', content: reply } : {
      role: 'assistant', content: null, tool_calls: [{
        index: 0, id: `call_${randomBytes(12).toString('hex')}`, type: 'function',
        function: { name: reply.tool, arguments: typeof reply.args === 'string' ? reply.args : JSON.stringify(reply.args) },
      }],
    };
    const finish = typeof reply === 'string' ? 'stop' : 'tool_calls';
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const common = { id: `chatcmpl-${randomBytes(8).toString('hex')}`, created: Math.floor(Date.now() / 1000), model: request.model };
    if (!request.stream) {
      return json({ ...common, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage });
    }
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const chunk = (/** @type {object} */ more) =>
      res.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...more })}\n\n`);
    chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] });
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    chunk({ choices: [], usage });
    res.end('data: [DONE]\n\n');
  }

  /** @param {{messages: Message[], tools?: unknown[]}} request @returns {Call | string} */
  #reply({ messages, tools }) {
    if (!tools?.length) return 'A title'; // an agent asks besides for the title of a conversation
    const text = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    for (const [known, replies] of this.#scripts) {
      if (!text.includes(known)) continue;
      this.#heard.set(known, messages);
      return replies.shift() ?? 'Done.';
    }
    return 'Done.';
  }
}

export async function startModel() {
  const model = new Model();
  await new Promise((resolve) => model.server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return model;
}
