'use strict';
// Extensions, and the start of the page.
const turnListeners = new Map();
function emitTurn(name, detail) {
  const event = {sessionId: S.session && S.session.session_id, streamId: S.activeStreamId, ...detail};
  for (const listener of turnListeners.get(name) || []) {
    try { listener(event); } catch (error) { console.error(error); }
  }
}

// Only an extension that the server's configuration names may register.
window.hermesExt = {
  register(id) {
    const config = window.__HERMES_EXTENSION_CONFIG__;
    if (!config || !(config.extensions || []).some((e) => e.id === id)) {
      console.warn(`extension ${id} is not configured`);
      return null;
    }
    return {
      id,
      events: {
        on(name, listener) {
          if (!turnListeners.has(name)) turnListeners.set(name, new Set());
          turnListeners.get(name).add(listener);
          return () => this.off(name, listener);
        },
        off(name, listener) { turnListeners.get(name)?.delete(listener); },
      },
    };
  },
};

// BOOT_READS are what the real page asks for at its start. A router may
// refuse some of them with 403; the page goes on without.
const BOOT_READS = [
  '/api/settings', '/api/transcribe/capability', '/api/dashboard/config', '/api/dashboard/status', '/api/profiles',
  '/api/profile/active', '/api/reasoning', '/api/workspaces', '/api/onboarding/status', '/api/projects', '/api/models',
];

function bind() {
  $('composerBox').addEventListener('submit', (event) => {
    event.preventDefault();
    if (S.busy) cancelStream(); else send();
  });
  $('msg').addEventListener('input', () => { grow(); keepDraft(); });
  $('msg').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
  });
  for (const id of ['btnNewChat', 'btnTitlebarNewChat']) $(id).addEventListener('click', showHome);
  $('btnReload').addEventListener('click', () => location.reload());
  $('btnTheme').addEventListener('click', toggleTheme);
  $('btnSidebar').addEventListener('click', () => toggleSidebar(!document.body.classList.contains('sidebar-open')));
  $('scrim').addEventListener('click', () => toggleSidebar(false));
  $('sessionSearch').addEventListener('input', drawSessionList);
  $('appTitlebarTitle').addEventListener('dblclick', renameSession);
  $('btnAttach').addEventListener('click', () => $('fileInput').click());
  $('fileInput').addEventListener('change', (event) => { attach(event.target.files[0]); event.target.value = ''; });
  for (const button of document.querySelectorAll('#approvalCard [data-choice]')) {
    button.addEventListener('click', () => respondApproval(button.dataset.choice));
  }
  for (const hint of document.querySelectorAll('#emptyState [data-say]')) {
    hint.addEventListener('click', () => { $('msg').value = hint.dataset.say; grow(); send(); });
  }
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') toggleSidebar(false); });
  window.addEventListener('popstate', () => {
    const sid = sessionInPath();
    if (sid) loadSession(sid); else showHome();
  });
}

function sessionInPath() {
  const match = location.pathname.match(/^\/session\/([^/]+)/);
  return match ? decodeURIComponent(match[1]) : null;
}

async function boot() {
  setTheme(document.documentElement.classList.contains('dark'));
  bind();
  const status = await api('/api/auth/status').catch(() => ({}));
  if (status.user) {
    $('titlebarProfileBtn').textContent = status.user.length > 14 ? status.user.slice(0, 12) + '…' : status.user;
    $('titlebarProfileBtn').title = `The router says you are ${status.user}`;
  }
  await Promise.allSettled([
    ...BOOT_READS.map((path) => api(path)),
    post('/api/updates/check', {}),
    renderSessionList(),
  ]);
  const query = new URLSearchParams(location.search);
  const remembered = query.get('action') === 'new-chat' ? null : localStorage.getItem('hermes-webui-session');
  const sid = sessionInPath() || query.get('session') || remembered;
  if (sid) await loadSession(sid);
  const text = query.get('q') || query.get('prompt');
  if (text) $('msg').value = text;
  grow();
  watchList();
  S._bootReady = true;
  if ('serviceWorker' in navigator) navigator.serviceWorker.register('/sw.js').catch(() => {});
}

boot();
