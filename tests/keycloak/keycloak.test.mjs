// A real Keycloak with the realm that we ship, and hux before two WebUIs: one
// start of it all for every case.
import { after, before, describe } from 'node:test';
import { huxCases } from './hux.mjs';
import { realmCases } from './realm.mjs';
import { startAll } from './setup.mjs';

describe('Keycloak', () => {
  const setup = /** @type {import('./setup.mjs').Setup} */ ({});

  before(async () => {
    Object.assign(setup, await startAll((text) => console.log(text)));
  });

  after(async () => {
    await setup.stop?.();
  });

  describe('the realm', () => realmCases(setup));
  describe('hux with Keycloak', () => huxCases(setup));
});
