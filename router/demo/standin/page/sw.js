// The worker has the manners of the real WebUI's: it keeps the newest page it
// saw as the shell "./", answers with it only when the network fails, and
// leaves the API, sign-in, streams and health alone.
const CACHE = 'hermes-shell-{{version}}';
const VERSION = '{{version}}';
const SHELL_ASSETS = ['style.css', 'ui.js', 'sessions.js', 'chat.js', 'boot.js', 'icon.svg']
  .map((name) => `./static/${name}?v=${VERSION}`);

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(SHELL_ASSETS)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith('hermes-shell-') && name !== CACHE) await caches.delete(name);
    }
    await self.clients.claim();
  })());
});

function ignored(url) {
  const path = url.pathname;
  return url.origin !== self.location.origin || path.endsWith('/sw.js') || path.endsWith('/login') ||
    path.includes('/api/') || path.includes('/stream') || path.includes('/health');
}

self.addEventListener('fetch', (event) => {
  const {request} = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || ignored(url)) return;
  if (request.mode === 'navigate') {
    event.respondWith(navigate(request));
  } else if (SHELL_ASSETS.some((asset) => new URL(asset, self.registration.scope).href === url.href)) {
    event.respondWith(networkFirst(request));
  }
});

async function navigate(request) {
  try {
    const response = await fetch(request);
    const html = (response.headers.get('Content-Type') || '').startsWith('text/html');
    if (response.status === 200 && !response.redirected && html) {
      const copy = response.clone();
      caches.open(CACHE).then((cache) => cache.put('./', copy));
    }
    return response;
  } catch (error) {
    return (await caches.match('./')) || Response.error();
  }
}

async function networkFirst(request) {
  try {
    const response = await fetch(request);
    if (response.ok) {
      const copy = response.clone();
      caches.open(CACHE).then((cache) => cache.put(request, copy));
    }
    return response;
  } catch (error) {
    return (await caches.match(request)) || Response.error();
  }
}
