// Launches the Chromium of the system: nothing is downloaded.
import { accessSync, constants } from 'node:fs';
import { chromium } from 'playwright-core';

/** Where Chromium is: HUX_CHROMIUM, else where Debian puts it. */
export const chromiumPath = process.env.HUX_CHROMIUM || '/usr/bin/chromium';

/**
 * Launches Chromium.
 *
 * @param {{headless?: boolean, args?: string[]}} [options]
 * @returns {Promise<import('playwright-core').Browser>}
 */
export async function launchChromium({ headless = true, args = [] } = {}) {
  try {
    accessSync(chromiumPath, constants.X_OK);
  } catch {
    throw new Error(
      `No Chromium at ${chromiumPath}. Install it (Debian: apt-get install chromium) ` +
        'or set HUX_CHROMIUM to the path of one.',
    );
  }
  return chromium.launch({
    executablePath: chromiumPath,
    headless,
    args: [
      '--no-sandbox', // CI runs as root
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  });
}
