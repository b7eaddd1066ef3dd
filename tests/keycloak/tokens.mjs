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
