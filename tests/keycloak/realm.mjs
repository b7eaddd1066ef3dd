// Cases of the realm: what deploy/keycloak/realm.json promises, asked of
// Keycloak itself.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { request } from '../lib/hux.mjs';
import { authorizeURL, claims, header, serviceToken, signInByHand, token } from './tokens.mjs';

/** @param {import('./setup.mjs').Setup} setup complete once its hooks have run */
export function realmCases(setup) {
  /** @type {import('./keycloak.mjs').Keycloak} */ let keycloak;
  let consoleURL = '';
  let callback = '';
  let secret = '';

  before(async () => {
    keycloak = setup.keycloak;
    consoleURL = setup.hux.console;
    callback = `${consoleURL}/hux/auth/callback`;
    secret = await keycloak.admin.secret('hux');
  });

  /** @param {string} username */
  const signIn = (username) => signInByHand(setup.browser, keycloak, callback, username);

  /** @param {string} refreshToken */
  const refresh = (refreshToken) => token(keycloak, {
    grant_type: 'refresh_token', refresh_token: refreshToken, client_id: 'hux', client_secret: secret,
  });

  test('an imported client gets a secret of its own', async () => {
    const worker = await keycloak.admin.secret('hux-worker');
    for (const made of [secret, worker]) assert.match(made, /^[A-Za-z0-9_-]{32,}$/);
    assert.notEqual(secret, worker);
  });

  test('it calls itself by its public name, whichever name it is asked by', async () => {
    const document = (await request(`${keycloak.internal}/realms/hux/.well-known/openid-configuration`)).json();
    assert.equal(document.issuer, keycloak.issuer);
    for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'end_session_endpoint']) {
      assert.ok(document[name].startsWith(`${keycloak.issuer}/`), `${name} is ${document[name]}`);
    }
  });

  test('a sign-in yields the tokens that hux needs and nothing more', async () => {
    const { back, access, id } = await signIn('alice');
    assert.equal(back.get('state'), 'a-state');
    assert.equal(back.get('iss'), keycloak.issuer);
    const [a, i] = [claims(access), claims(id)];
    assert.equal(header(access).alg, 'RS256');
    assert.equal(a.iss, keycloak.issuer);
    assert.equal(a.typ, 'Bearer');
    assert.equal(a.azp, 'hux');
    assert.ok([a.aud].flat().includes('hux'), `aud is ${a.aud}`);
    assert.ok(a.sub, 'the basic scope gives a subject');
    assert.equal(a.realm_access, undefined, 'alice has no role');
    assert.equal(a.resource_access, undefined);
    assert.equal(i.typ, 'ID');
    assert.equal(i.aud, 'hux');
    assert.equal(i.nonce, 'a-nonce');
    assert.equal(i.sub, a.sub);
    assert.equal(i.sid, a.sid);
    assert.equal(i.preferred_username, 'alice');
    for (const each of [a, i]) assert.equal(each.email, undefined);
  });

  test('roles of hux are in the access token', async () => {
    assert.deepEqual(claims((await signIn('olga')).access).realm_access, { roles: ['hux-operator'] });
  });

  test('a refresh token works once', async () => {
    const { refresh: first } = await signIn('bob');
    const second = await refresh(first);
    assert.equal(second.status, 200, second.text);
    assert.equal((await refresh(first)).json().error, 'invalid_grant');
  });

  for (const [what, fields] of /** @type {[string, Record<string, string>][]} */ ([
    ['without PKCE', { code_challenge: '', code_challenge_method: '' }],
    ['with a plain challenge', { code_challenge_method: 'plain' }],
    ['for an implicit token', { response_type: 'token id_token' }],
  ])) {
    test(`a sign-in ${what} is refused`, async () => {
      const answer = await request(authorizeURL(keycloak, callback, fields));
      assert.equal(answer.status, 302, answer.text);
      assert.match(answer.headers.location ?? '', /[?#&]error=/);
      assert.doesNotMatch(answer.headers.location ?? '', /[?#&](code|access_token)=/);
    });
  }

  for (const uri of ['/hux/auth/callback/x', '/', '.evil.example/hux/auth/callback']) {
    test(`redirect to ${uri} is refused`, async () => {
      assert.equal((await request(authorizeURL(keycloak, consoleURL + uri))).status, 400);
    });
  }

  test('passwords are taken on the sign-in page only', async () => {
    const answer = await token(keycloak, {
      grant_type: 'password', username: 'alice', password: 'alice-in-the-tests', client_id: 'hux', client_secret: secret,
    });
    assert.equal(answer.json().error, 'unauthorized_client');
  });

  test("the worker's token is a bearer token for hux with the worker's role", async () => {
    const worker = claims(await serviceToken(keycloak, 'hux-worker'));
    assert.equal(worker.iss, keycloak.issuer);
    assert.equal(worker.typ, 'Bearer');
    assert.equal(worker.azp, 'hux-worker');
    assert.ok([worker.aud].flat().includes('hux'), `aud is ${worker.aud}`);
    assert.deepEqual(worker.realm_access, { roles: ['hux-worker'] });
  });
}
