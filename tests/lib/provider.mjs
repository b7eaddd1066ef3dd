// A stand-in OpenID provider for the tests of the WebUI behind `hux serve`: authorization code with PKCE, refresh and
// sign-out, one page with a button for each person. Keycloak has tests of its own; here only the WebUI must be real.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';

const base64url = (/** @type {unknown} */ value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * @param {{clientID: string, clientSecret: string, people: Record<string, string[]>, port?: number}} options
 *   people: name to roles
 */
export async function startProvider({ clientID, clientSecret, people, port = 0 }) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
  /** @type {Map<string, {name: string, sid: string, nonce?: string, challenge?: string, redirect?: string}>} */
  const grants = new Map();
  const server = createServer((req, res) => serve(req, res).catch(() => res.writeHead(500).end()));
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  const issuer = `http://127.0.0.1:${address.port}`;

  const subjectOf = (/** @type {string} */ name) => `subject-of-${name}`;

  const token = (/** @type {Record<string, unknown>} */ claims) => {
    const now = Math.floor(Date.now() / 1000);
    const head = base64url({ alg: 'RS256', kid: 'one', typ: 'JWT' });
    const body = base64url({ iss: issuer, aud: clientID, azp: clientID, iat: now, exp: now + 300, auth_time: now, ...claims });
    return `${head}.${body}.${sign('sha256', Buffer.from(`${head}.${body}`), privateKey).toString('base64url')}`;
  };

  async function serve(/** @type {import('node:http').IncomingMessage} */ req, /** @type {import('node:http').ServerResponse} */ res) {
    const url = new URL(req.url ?? '/', issuer);
    const json = (/** @type {unknown} */ body, status = 200) => {
      res.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(JSON.stringify(body));
    };
    switch (`${req.method} ${url.pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/keys`,
          end_session_endpoint: `${issuer}/end`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          code_challenge_methods_supported: ['S256'],
        });
      case 'GET /keys':
        return json({ keys: [jwk] });
      case 'GET /authorize': {
        const buttons = Object.keys(people).map((name) => {
          const to = new URL(url);
          to.pathname = '/grant';
          to.searchParams.set('name', name);
          return `<p><a href="${to.pathname}${to.search.replaceAll('&', '&amp;')}">${name}</a></p>`;
        });
        res.writeHead(200, { 'Content-Type': 'text/html' });
        return void res.end(`<!doctype html><title>Stand-in provider</title><h1>Sign in as</h1>${buttons.join('')}`);
      }
      case 'GET /grant': {
        const q = url.searchParams;
        const code = randomBytes(16).toString('hex');
        grants.set(code, {
          name: q.get('name') ?? '',
          sid: randomBytes(8).toString('hex'),
          nonce: q.get('nonce') ?? undefined,
          challenge: q.get('code_challenge') ?? undefined,
          redirect: q.get('redirect_uri') ?? '',
        });
        const to = new URL(q.get('redirect_uri') ?? '');
        to.searchParams.set('code', code);
        to.searchParams.set('state', q.get('state') ?? '');
        return void res.writeHead(302, { Location: String(to) }).end();
      }
      case 'POST /token': {
        const chunks = [];
        for await (const chunk of req) chunks.push(chunk);
        const form = new URLSearchParams(Buffer.concat(chunks).toString());
        const basic = Buffer.from((req.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
        const known = basic === `${clientID}:${clientSecret}` || form.get('client_secret') === clientSecret;
        const key = form.get('code') ?? form.get('refresh_token') ?? '';
        const grant = grants.get(key);
        grants.delete(key);
        const verifier = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
        if (!known || !grant || (form.has('code') && verifier !== grant.challenge)) return json({ error: 'invalid_grant' }, 400);
        const refresh = randomBytes(16).toString('hex');
        grants.set(refresh, grant);
        const claims = { sub: subjectOf(grant.name), sid: grant.sid, preferred_username: grant.name, name: grant.name };
        return json({
          token_type: 'Bearer',
          expires_in: 300,
          refresh_token: refresh,
          access_token: token({ ...claims, typ: 'Bearer', realm_access: { roles: people[grant.name] } }),
          id_token: token({ ...claims, typ: 'ID', nonce: grant.nonce }),
        });
      }
      case 'GET /end':
        return void res.writeHead(302, { Location: url.searchParams.get('post_logout_redirect_uri') ?? '/' }).end();
      default:
        return json({ error: 'not_found' }, 404);
    }
  }

  return {
    issuer,
    clientID,
    clientSecret,
    /** What a program of a person's own would have as its token. @param {string} name */
    accessToken: (name) => token({ sub: subjectOf(name), typ: 'Bearer', preferred_username: name, name, realm_access: { roles: people[name] } }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
