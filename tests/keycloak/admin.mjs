// The part of Keycloak's admin interface that the tests use.
import { request } from '../lib/hux.mjs';

export class Admin {
  /**
   * @param {string} server origin of the server
   * @param {string} realm  the realm that is administered
   * @param {string} client id of a client of the master realm with the admin role
   * @param {string} secret
   */
  constructor(server, realm, client, secret) {
    this.server = server;
    this.realm = realm;
    this.client = client;
    this.clientSecret = secret;
    this.token = { value: '', until: 0 };
  }

  /** An access token of the master realm with the admin role. */
  async accessToken() {
    if (Date.now() > this.token.until) {
      const answer = await form(`${this.server}/realms/master/protocol/openid-connect/token`,
        { grant_type: 'client_credentials', client_id: this.client, client_secret: this.clientSecret });
      if (answer.status !== 200) throw new Error(`No admin token: ${answer.status} ${answer.text}`);
      const { access_token: value, expires_in: seconds } = answer.json();
      this.token = { value, until: Date.now() + (seconds - 10) * 1000 };
    }
    return this.token.value;
  }

  /**
   * Asks the admin interface of the realm and fails on any answer but 2xx.
   *
   * @param {string} method
   * @param {string} path below /admin/realms/REALM
   * @param {unknown} [body] sent as JSON
   * @returns {Promise<any>}
   */
  async call(method, path, body) {
    const answer = await request(`${this.server}/admin/realms/${this.realm}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${await this.accessToken()}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.status < 200 || answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.text ? answer.json() : undefined;
  }

  /** @param {string} username */
  async user(username) {
    const [found] = await this.call('GET', `/users?exact=true&username=${username}`);
    if (!found) throw new Error(`no user ${username}`);
    return found;
  }

  /**
   * Makes a user with a password.
   *
   * @param {{username: string, email: string, firstName: string, lastName: string}} person
   * @param {string} password
   */
  async createUser(person, password) {
    await this.call('POST', '/users', {
      ...person, enabled: true, emailVerified: true, credentials: [{ type: 'password', value: password }],
    });
  }

  /** @param {string} username */
  async deleteUser(username) {
    await this.call('DELETE', `/users/${(await this.user(username)).id}`);
  }

  /** Ends all sessions of a user. @param {string} username */
  async logout(username) {
    await this.call('POST', `/users/${(await this.user(username)).id}/logout`);
  }

  /** The sessions of a user. @param {string} username */
  async sessions(username) {
    return this.call('GET', `/users/${(await this.user(username)).id}/sessions`);
  }

  /**
   * Gives or takes a realm role.
   *
   * @param {'POST' | 'DELETE'} method POST gives, DELETE takes
   * @param {string} username
   * @param {string} role
   */
  async role(method, username, role) {
    const { id, name } = await this.call('GET', `/roles/${role}`);
    await this.call(method, `/users/${(await this.user(username)).id}/role-mappings/realm`, [{ id, name }]);
  }

  /** A client's representation. @param {string} clientId */
  async clientOf(clientId) {
    const [found] = await this.call('GET', `/clients?clientId=${clientId}`);
    if (!found) throw new Error(`no client ${clientId}`);
    return found;
  }

  /** The secret of a client. @param {string} clientId */
  async secret(clientId) {
    return (await this.clientOf(clientId)).secret;
  }

  /** Adds a signing key that takes over from all others. */
  async rotateKey() {
    const { id } = await this.call('GET', '');
    const keys = await this.call('GET', `/components?type=org.keycloak.keys.KeyProvider`);
    const highest = Math.max(...keys.map((/** @type {any} */ key) => Number(key.config.priority?.[0] ?? 0)));
    await this.call('POST', '/components', {
      name: `rsa-${highest + 1}`,
      providerId: 'rsa-generated',
      providerType: 'org.keycloak.keys.KeyProvider',
      parentId: id,
      config: { priority: [String(highest + 1)], enabled: ['true'], active: ['true'], algorithm: ['RS256'], keySize: ['2048'] },
    });
  }
}

/**
 * Posts a form.
 *
 * @param {string} url
 * @param {Record<string, string>} fields
 * @param {Record<string, string>} [headers]
 */
export function form(url, fields, headers = {}) {
  return request(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  });
}
