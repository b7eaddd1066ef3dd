'use strict';
// State, the API and small helpers. Like the real WebUI's, these names are
// global and lexical: S is not window.S.
const S={
  session: null, messages: [], busy: false, activeStreamId: null, activeProfile: 'default',
  sessions: [], attachments: [], _bootReady: false,
};
const INFLIGHT = {};
const LIVE_STREAMS = {};

const $ = (id) => document.getElementById(id);

// el makes an element. Text is always text: what people and agents write is
// never parsed as markup.
function el(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Every change to this origin carries the page's CSRF token.
const plainFetch = window.fetch.bind(window);
window.fetch = (input, init = {}) => {
  const method = (init.method || (input instanceof Request ? input.method : 'GET')).toUpperCase();
  const url = new URL(input instanceof Request ? input.url : input, location.href);
  if (url.origin !== location.origin || method === 'GET' || method === 'HEAD') return plainFetch(input, init);
  const headers = new Headers(init.headers || (input instanceof Request ? input.headers : undefined));
  headers.set('X-Hermes-CSRF-Token', window.__HERMES_CSRF_TOKEN__);
  return plainFetch(input, {...init, headers});
};

// api asks for JSON. It throws an Error with the status and the body.
async function api(path, options = {}) {
  const init = {...options};
  if (init.body !== undefined && !(init.body instanceof FormData) && typeof init.body !== 'string') {
    init.headers = {'Content-Type': 'application/json', ...init.headers};
    init.body = JSON.stringify(init.body);
  }
  let response;
  try {
    response = await fetch(path, init);
    Offline.reached();
  } catch (error) {
    Offline.failed();
    throw error;
  }
  if (response.status === 401) {
    location.href = '/login?next=' + encodeURIComponent(location.pathname + location.search);
    throw new Error('signed out');
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw Object.assign(new Error(body.error || body.detail || `The server answered ${response.status}.`), {status: response.status, body});
  }
  return body;
}

const post = (path, body) => api(path, {method: 'POST', body});

// Offline shows a banner after two failures in a row and looks at /health
// until it answers again.
const Offline = {
  failures: 0, timer: null,
  reached() { this.failures = 0; },
  failed() {
    this.failures += 1;
    if (this.failures < 2 || this.timer) return;
    $('offlineBanner').hidden = false;
    this.timer = setInterval(async () => {
      const ok = await plainFetch('/health', {cache: 'no-store'}).then((r) => r.ok, () => false);
      if (!ok) return;
      clearInterval(this.timer);
      this.timer = null;
      this.failures = 0;
      $('offlineBanner').hidden = true;
      refreshSession();
      renderSessionList();
    }, 2500);
  },
};

let toastTimer;
function showToast(message, ms = 3000, type = 'info') {
  const toast = $('toast');
  toast.textContent = message;
  toast.dataset.type = type;
  toast.classList.add('visible');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove('visible'), ms);
}

function setTheme(dark) {
  document.documentElement.classList.toggle('dark', dark);
  document.querySelector('meta[name="theme-color"]').content = dark ? '#0D0D1A' : '#FEFCF7';
}

function toggleTheme() {
  const dark = !document.documentElement.classList.contains('dark');
  setTheme(dark);
  localStorage.setItem('hermes-theme', dark ? 'dark' : 'light');
}

function toggleSidebar(open) {
  document.body.classList.toggle('sidebar-open', open);
  $('scrim').hidden = !open;
  $('btnSidebar').setAttribute('aria-expanded', String(open));
}
