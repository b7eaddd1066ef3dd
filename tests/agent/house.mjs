// hux with one slot, its person alice, and the stand-in WebUI of the slot.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Agent } from '../lib/hooks.mjs';
import { huxBinary, request, startHux, until } from '../lib/hux.mjs';
import { startProvider } from '../lib/provider.mjs';
import { startWebUI } from './webui.mjs';

const clientSecret = 'client-secret-of-the-agent-tests';

/** @typedef {Awaited<ReturnType<typeof startHouse>>} House */

export async function startHouse() {
  const provider = await startProvider({ clientID: 'hux', clientSecret, people: { alice: [] } });
  const webui = await startWebUI();
  const hux = await startHux({
    command: 'serve',
    config: {
      public_url: 'http://chat.hux.localhost:PORT',
      console_url: 'http://console.hux.localhost:PORT',
      oidc_issuer: provider.issuer,
      oidc_client_id: provider.clientID,
      oidc_bearer_clients: [provider.clientID],
      slots: [{ id: 'one', url: webui.url }],
      flags: 'all',
    },
    env: { HUX_KEY: randomBytes(32).toString('base64'), HUX_OIDC_CLIENT_SECRET: clientSecret },
  });
  const authorization = `Bearer ${provider.accessToken('alice')}`;
  const call = (/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) =>
    request(`${hux.api}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { Authorization: authorization, ...(body && { 'Content-Type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });

  /** Asks the API as alice, which must succeed. @param {string} path @param {object | undefined} [body] */
  const ask = async (path, body = undefined) => {
    const answer = await call(`/hux/v1${path}`, body);
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
    return answer.json();
  };
  const { user } = (await call('/hux/api/me')).json();
  execFileSync(huxBinary(), ['slots', 'assign', 'one', user], { env: { ...process.env, HUX_DATA: hux.data } });

  /** The conversation of a session. @param {string} session @returns {Promise<string>} */
  const conversation = async (session) => (await ask('/conversations', { external_ref: { system: 'webui', id: session } })).id;

  /** Its events of a kind. @param {string} session @param {string} kind @returns {Promise<any[]>} */
  const events = async (session, kind) => (await ask(`/conversations/${await conversation(session)}/events?limit=200`)).items
    .filter((/** @type {any} */ event) => event.kind === kind);

  return {
    hux,
    webui,
    ask,
    call: (/** @type {string} */ path, /** @type {object | undefined} */ body = undefined) => call(`/hux/v1${path}`, body),
    events,
    conversation,
    agent: () => new Agent(hux, 'one'),

    /** Has alice look, who is asked nothing while she is away. */
    look: () => ask('/approvals?status=pending'),

    /** The approval that a session waits for. @param {string} session @returns {Promise<any>} */
    async pending(session) {
      const id = await conversation(session);
      return until(async () => (await ask(`/approvals?status=pending&conversation_id=${id}`)).items[0],
        { timeout: 100_000, interval: 200, what: `something asked in ${session}` });
    },

    /** Decides an approval, as the card does. @param {any} approval @param {string} choice */
    decide: (approval, choice) => call(`/hux/v1/approvals/${approval.id}`, { choice, evidence_hash: approval.request.evidence[0].hash }),

    /**
     * What a person says about a call that has ended comes too late: it grants nothing, and they are told.
     * @param {any} approval
     */
    async tooLate(approval) {
      await until(async () => (await ask(`/approvals/${approval.id}`)).status === 'cancelled', { timeout: 60_000, interval: 200, what: 'the request is settled' });
      const answer = await call(`/hux/v1/approvals/${approval.id}`, { choice: 'session', evidence_hash: approval.request.evidence[0].hash });
      assert.equal(answer.status, 409, answer.text);
      assert.match(answer.text, /ended|too late/);
      assert.deepEqual((await ask('/grants?state=active')).items, []);
    },

    /** Tells of the turn what the page of the WebUI tells. @param {string} session @param {string} stream  its name there */
    async page(session, stream) {
      await ask(`/conversations/${await conversation(session)}/events`, { kind: 'run.started', status: 'started', summary: 'A turn', run_id: stream });
    },

    async close() {
      await hux.stop();
      await webui.close();
      await provider.close();
    },
  };
}
