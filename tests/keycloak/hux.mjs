// Cases of hux with Keycloak, as people and programs meet the two. hux reaches
// Keycloak by another URL than browsers do throughout.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { request, startHux, until } from '../lib/hux.mjs';
import { ask, openStream, signIn } from './setup.mjs';
import { fillIn, header, password, serviceToken, signInByHand, token } from './tokens.mjs';

// Tokens live for 6 seconds here, so what hux learns at a refresh it knows by then.
const refreshed = { timeout: 15_000, interval: 200 };

/** @param {import('./setup.mjs').Setup} setup complete once its hooks have run */
export function huxCases(setup) {
  /** @type {import('./keycloak.mjs').Keycloak} */ let keycloak;
  /** @type {import('../lib/hux.mjs').Hux} */ let hux;

  before(() => {
    ({ keycloak, hux } = setup);
  });

  /** Who hux says a browser is, or the status. @param {import('playwright-core').BrowserContext} context @param {string} [origin] */
  const me = async (context, origin = hux.chat) => {
    const answer = await ask(context, `${origin}/hux/api/me`);
    return answer.status === 200 ? answer.json() : answer.status;
  };

  /** @param {string} bearer @param {string} [path] */
  const withBearer = (bearer, path = '/hux/api/me') =>
    request(hux.api + path, { headers: { Authorization: `Bearer ${bearer}` } });

  test('one sign-in on the real page is good for the chat and the console', async () => {
    const { page, context } = await signIn(setup, 'alice');
    await page.locator('#msg').waitFor();
    const [chat, console_] = [await me(context), await me(context, hux.console)];
    assert.equal(chat.user, console_.user);
    assert.match(chat.user, /^usr_[0-9a-f]{40}$/);
    assert.equal(chat.actor.kind, 'human');
    assert.ok(['one', 'two'].includes(chat.tenant.slot));
    const cookies = await context.cookies([hux.chat, hux.console]);
    assert.deepEqual(cookies.map(({ name }) => name).filter((name) => /hux_(chat|console)$/.test(name)).sort(),
      ['__Host-hux_chat', '__Host-hux_console']);
    await page.goto(`${hux.console}/`);
    await page.getByRole('heading', { name: 'Console' }).waitFor();
    await context.close();
  });

  test('refresh: a session outlives its access token and follows roles', async () => {
    const { context } = await signIn(setup, 'alice');
    const { user, roles } = await me(context);
    assert.deepEqual(roles, []);
    await keycloak.admin.role('POST', 'alice', 'hux-operator');
    await until(async () => (await me(context)).roles.includes('hux-operator'), { ...refreshed, what: 'the new role' });
    assert.equal((await ask(context, `${hux.console}/hux/api/status`)).status, 200);
    await keycloak.admin.role('DELETE', 'alice', 'hux-operator');
    await until(async () => (await me(context)).roles.length === 0, { ...refreshed, what: 'the role gone' });
    assert.equal((await ask(context, `${hux.console}/hux/api/status`)).status, 403);
    assert.equal((await me(context)).user, user);
    await context.close();
  });

  test('key rotation: a new key is good at once, and sessions go on', async () => {
    const { context } = await signIn(setup, 'alice');
    const before = await serviceToken(keycloak, 'hux-worker');
    assert.equal((await withBearer(before)).status, 200);
    await keycloak.admin.rotateKey();
    const later = await serviceToken(keycloak, 'hux-worker');
    assert.notEqual(header(later).kid, header(before).kid);
    assert.equal((await withBearer(later)).status, 200);
    assert.equal((await withBearer(before)).status, 200);
    const count = await setup.metric('hux_session_refreshes_total', 'outcome="ok"');
    await until(async () => {
      assert.equal((await me(context)).actor.kind, 'human');
      return (await setup.metric('hux_session_refreshes_total', 'outcome="ok"')) > count;
    }, { ...refreshed, what: 'a refresh under the new key' });
    const another = await signIn(setup, 'bob');
    assert.equal((await me(another.context)).actor.kind, 'human');
    await Promise.all([context.close(), another.context.close()]);
  });

  for (const withOffline of [false, true]) {
    const what = withOffline ? ', also where Keycloak revokes offline tokens and says so' : '';
    test(`back-channel logout cuts the live streams of that user only${what}`, async () => {
      const client = await keycloak.admin.clientOf('hux');
      await keycloak.admin.call('PUT', `/clients/${client.id}`, {
        ...client, attributes: { ...client.attributes, 'backchannel.logout.revoke.offline.tokens': String(withOffline) },
      });
      const [alice, bob] = [await signIn(setup, 'alice'), await signIn(setup, 'bob')];
      const streams = {
        alice: await openStream(alice.context, `${hux.chat}/api/sessions/events`),
        bob: await openStream(bob.context, `${hux.chat}/api/sessions/events`),
      };
      await keycloak.admin.logout('bob');
      await until(() => streams.bob.ended(), { timeout: 4000, what: "bob's stream cut" });
      assert.equal(await me(bob.context), 401);
      assert.equal(await me(bob.context, hux.console), 401);
      assert.equal(streams.alice.ended(), false);
      assert.equal((await me(alice.context)).actor.kind, 'human');
      streams.alice.close();
      await Promise.all([alice.context.close(), bob.context.close()]);
    });
  }

  test('a service account is a worker', async () => {
    const answer = await withBearer(await serviceToken(keycloak, 'hux-worker'), '/hux/v1/capabilities');
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json().actor.kind, 'worker');
  });

  test('as bearer only access tokens of known clients are taken', async () => {
    const own = await signInByHand(setup.browser, keycloak, `${hux.console}/hux/auth/callback`, 'alice');
    const good = await withBearer(own.access);
    assert.equal(good.status, 200, good.text);
    assert.equal(good.json().actor.kind, 'human');
    const [head, payload, signature] = own.access.split('.');
    const refused = {
      'an ID token of hux': own.id,
      'a refresh token of hux': own.refresh,
      'a token of another client, with our audience': await serviceToken(keycloak, 'another'),
      'a token of another client': await serviceToken(keycloak, 'unrelated'),
      'a token of another realm': await keycloak.admin.accessToken(),
      'a token without its signature': `${head}.${payload}.`,
      'a token with a part of its signature': `${head}.${payload}.${signature.slice(0, -4)}`,
    };
    for (const [what, each] of Object.entries(refused)) {
      assert.equal((await withBearer(each)).status, 401, what);
    }
  });

  test('the issuer is checked however Keycloak is reached', async () => {
    const other = await startHux({
      command: 'serve', config: { ...setup.config, oidc_issuer: `${keycloak.internal}/realms/hux`, metrics_listen: '' },
    });
    try {
      await until(() => other.log().includes('calls itself'), { what: 'hux saying that the issuer differs' });
      const answer = await request(`${other.api}/hux/api/me`,
        { headers: { Authorization: `Bearer ${await serviceToken(keycloak, 'hux-worker')}` } });
      assert.notEqual(answer.status, 200);
      assert.equal((await request(`${other.console}/hux/auth/sign-in`)).status, 503);
    } finally {
      await other.stop();
    }
  });

  test('signing out of hux signs out of Keycloak', async () => {
    await keycloak.admin.logout('bob');
    const { page, context } = await signIn(setup, 'bob');
    assert.equal((await keycloak.admin.sessions('bob')).length, 1);
    await page.goto(`${hux.console}/hux/api/ui/sign-out`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${hux.console}/hux/api/ui/signed-out*`);
    assert.deepEqual(await keycloak.admin.sessions('bob'), []);
    assert.equal(await me(context), 401);
    assert.equal(await me(context, hux.console), 401);
    await page.goto(`${hux.chat}/`);
    await page.locator('#password').waitFor();
    await context.close();
  });

  test('Keycloak down: who is signed in goes on, and signing in comes back with it', async () => {
    const { context } = await signIn(setup, 'alice');
    const { user } = await me(context);
    const stillIn = async () => assert.equal((await me(context)).user, user);

    await keycloak.stop();
    await until(async () => {
      await stillIn();
      return (await setup.metric('hux_session_refreshes_total', 'outcome="unavailable"')) > 0;
    }, { ...refreshed, what: 'a refresh that found nobody' });
    await stillIn();

    await hux.restart();
    await stillIn();
    const fresh = await setup.browser.newContext();
    const page = await fresh.newPage();
    assert.equal((await page.goto(`${hux.chat}/`))?.status(), 503);
    assert.ok(page.url().startsWith(`${hux.console}/`));

    await keycloak.start();
    await until(async () => {
      await page.goto(`${hux.chat}/`);
      return page.url().startsWith(keycloak.issuer);
    }, { timeout: 20_000, interval: 500, what: 'the sign-in page' });
    await fillIn(page, 'bob');
    await page.waitForURL(`${hux.chat}/**`);
    await until(async () => {
      await stillIn();
      return (await setup.metric('hux_session_refreshes_total', 'outcome="ok"')) > 0;
    }, { ...refreshed, timeout: 30_000, what: 'a refresh at the Keycloak that came back' });
    await Promise.all([context.close(), fresh.close()]);
  });

  test('a user who is deleted and made anew is another person', async () => {
    const { context: old } = await signIn(setup, 'alice');
    const was = await me(old);
    const { id, username, email, firstName, lastName } = await keycloak.admin.user('alice');
    await keycloak.admin.deleteUser('alice');
    await keycloak.admin.createUser({ username, email, firstName, lastName }, password('alice'));
    assert.notEqual((await keycloak.admin.user('alice')).id, id);
    await until(async () => (await me(old)) === 401, { ...refreshed, what: "the old alice's session over" });

    // Both slots of the pool are taken, by the old alice and by bob.
    const { page, context } = await signIn(setup, 'alice');
    await page.getByRole('heading', { name: 'There is no slot for you yet' }).waitFor();
    const is = await me(context);
    assert.equal(is.name, was.name);
    assert.notEqual(is.user, was.user);
    assert.equal(is.tenant, null);
    assert.equal((await ask(context, `${hux.chat}/api/sessions`)).status, 503);
    await Promise.all([old.close(), context.close()]);
  });
}
