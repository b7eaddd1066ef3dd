// Finds Java, gets the Keycloak server from Maven Central and prepares it once.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** The version that the tests are written for, and the SHA-256 of its archive. */
export const version = '26.7.3';
const digest = '27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where archives and prepared servers are kept: HUX_CACHE, else .cache/ of the repository. */
export const cache = resolve(process.env.HUX_CACHE || join(root, '.cache'));

// What decides how the server is built.
const buildArguments = ['--db=dev-file', '--health-enabled=true'];

/**
 * The home of a Java that Keycloak runs on: JAVA_HOME, else that of java on
 * the PATH.
 *
 * @returns {string}
 */
export function javaHome() {
  const needs = 'Keycloak needs Java 17 or newer: install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME.';
  const java = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java';
  let settings;
  try {
    settings = execFileSync('sh', ['-c', '"$0" -XshowSettings:properties -version 2>&1', java], { encoding: 'utf8' });
  } catch {
    throw new Error(`No Java found. ${needs}`);
  }
  const found = /java\.specification\.version = ([\d.]+)/.exec(settings)?.[1] ?? '';
  const home = /java\.home = (.+)/.exec(settings)?.[1]?.trim();
  if (!home || !(Number(found) >= 17)) throw new Error(`Java ${found || 'of an unknown version'} is too old. ${needs}`);
  return home;
}

/**
 * Makes the server ready to start: downloads, checks, unpacks and builds what
 * is not in the cache yet, which takes about half a minute once.
 *
 * @param {(text: string) => void} say is told what takes long
 * @returns {Promise<string>} its directory, to be copied, not to be run
 */
export async function prepare(say) {
  const home = join(cache, `keycloak-${version}`);
  const done = join(home, 'built-with.txt');
  if (existsSync(done)) return home;

  const archive = join(cache, `keycloak-quarkus-dist-${version}.zip`);
  mkdirSync(cache, { recursive: true });
  if (!existsSync(archive)) {
    say(`downloading Keycloak ${version}`);
    run('mvn', ['-q', '-B', 'dependency:copy',
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:zip`, `-DoutputDirectory=${cache}`],
    `Install Maven (Debian: apt-get install maven), or put the archive at ${archive}.`);
  }
  const hash = createHash('sha256');
  await pipeline(createReadStream(archive), hash);
  if (hash.digest('hex') !== digest) throw new Error(`${archive} is not Keycloak ${version}: remove it and try again.`);

  // Beside its final place first, so that an interrupted run leaves nothing half made there.
  const scratch = join(cache, `unpacking-${process.pid}`);
  try {
    say(`unpacking and building Keycloak ${version}`);
    run('unzip', ['-q', archive, '-d', scratch], 'Install unzip (Debian: apt-get install unzip).');
    const unpacked = join(scratch, `keycloak-${version}`);
    run(join(unpacked, 'bin', 'kc.sh'), ['build', ...buildArguments], 'Its own words stand above.', { ...process.env, JAVA_HOME: javaHome() });
    writeFileSync(join(unpacked, 'built-with.txt'), `${buildArguments.join('\n')}\n`);
    rmSync(home, { recursive: true, force: true });
    renameSync(unpacked, home);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return home;
}

/**
 * Runs a program to its end, telling what it printed only when it failed.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {string} advice what to do if it cannot be run
 * @param {NodeJS.ProcessEnv} [env]
 */
function run(program, args, advice, env) {
  try {
    execFileSync(program, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '', message } = /** @type {Error & {stdout?: string, stderr?: string}} */ (error);
    throw new Error(`${stdout}${stderr}${message}\n${program} failed. ${advice}`);
  }
}

/**
 * Copies a directory by hard links: instant, and each copy has data of its own.
 *
 * @param {string} from
 * @param {string} to
 */
export function link(from, to) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) link(source, target);
    else linkSync(source, target);
  }
}
