// What the tests do with tokens and with the provider's endpoints by hand.
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { form } from './admin.mjs';

const overlay = JSON.parse(readFileSync(new URL('overlay.json', import.meta.url), 'utf8'));

/** The password of a user of overlay.json. @param {string} username */
export function password(username) {
  const found = overlay.users.find((/** @type {any} */ user) => user.username === username);
  if (!found) throw new Error(`${username} is not in overlay.json`);
  return found.credentials[0].value;
}

/** The claims of a JWT, unchecked. @param {string} token */
export function claims(token) {
  return JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString('utf8'));
}

/** The header of a JWT, unchecked. @param {string} token */
export function header(token) {
  return JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString('utf8'));
}

/** A PKCE verifier and its S256 challenge. */
export function proofKey() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/**
 * Posts to the token endpoint, by the name that programs use.
 *
 * @param {import('./keycloak.mjs').Keycloak} keycloak
 * @param {Record<string, string>} fields
 */
export function token(keycloak, fields) {
  return form(`${keycloak.internal}/realms/hux/protocol/openid-connect/token`, fields);
}

/**
 * The access token of a client's service account.
 *
 * @param {import('./keycloak.mjs').Keycloak} keycloak
 * @param {string} client
 * @returns {Promise<string>}
 */
export async function serviceToken(keycloak, client) {
  const answer = await token(keycloak, {
    grant_type: 'client_credentials', client_id: client, client_secret: await keycloak.admin.secret(client),
  });
  if (answer.status !== 200) throw new Error(`No token for ${client}: ${answer.status} ${answer.text}`);
  return answer.json().access_token;
}

/**
 * Signs a user in to the client hux by hand: on the real page, stopping the
 * redirect to hux, and redeeming its code.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {import('./keycloak.mjs').Keycloak} keycloak
 * @param {string} callback hux's redirect URI
 * @param {string} username
 * @returns {Promise<{back: URLSearchParams, access: string, id: string, refresh: string}>}
 *   the answer at the redirect, and the three tokens
 */
export async function signInByHand(browser, keycloak, callback, username) {
  const { verifier, challenge } = proofKey();
  const context = await browser.newContext();
  try {
    await context.route(`${callback}?**`, (route) => route.fulfill({ body: 'stopped here' }));
    const page = await context.newPage();
    await page.goto(authorizeURL(keycloak, callback, { code_challenge: challenge }));
    await fillIn(page, username);
    await page.waitForURL(`${callback}?**`);
    const back = new URL(page.url()).searchParams;
    const answer = await token(keycloak, {
      grant_type: 'authorization_code', code: back.get('code') ?? '', redirect_uri: callback,
      client_id: 'hux', client_secret: await keycloak.admin.secret('hux'), code_verifier: verifier,
    });
    if (answer.status !== 200) throw new Error(`No tokens for ${username}: ${answer.status} ${answer.text}`);
    const { access_token: access, id_token: id, refresh_token: refresh } = answer.json();
    return { back, access, id, refresh };
  } finally {
    await context.close();
  }
}

/**
 * Where the client hux sends a browser to sign in.
 *
 * @param {import('./keycloak.mjs').Keycloak} keycloak
 * @param {string} callback
 * @param {Record<string, string>} [fields] others than usual; an empty one is left out
 */
export function authorizeURL(keycloak, callback, fields = {}) {
  const url = new URL(`${keycloak.issuer}/protocol/openid-connect/auth`);
  const all = {
    client_id: 'hux', redirect_uri: callback, response_type: 'code', scope: 'openid profile',
    state: 'a-state', nonce: 'a-nonce', code_challenge: proofKey().challenge, code_challenge_method: 'S256', ...fields,
  };
  for (const [name, value] of Object.entries(all)) if (value) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Fills in the real sign-in page that page shows.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} username
 * @param {string} [secret] the password; default that of overlay.json
 */
export async function fillIn(page, username, secret = password(username)) {
  await page.locator('#username').fill(username);
  await page.locator('#password').fill(secret);
  await page.locator('#kc-login').click();
}
