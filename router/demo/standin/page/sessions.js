'use strict';
// The conversations: list, opening, new, rename, delete.
const openHandlers = [];
function registerHermesSessionOpenHandler(handler) { openHandlers.push(handler); }

function tellOpened(sid, data, phase) {
  for (const handler of openHandlers) {
    try { handler(sid, data, {phase}); } catch (error) { console.error(error); }
  }
}

async function renderSessionList() {
  const {sessions} = await api('/api/sessions');
  S.sessions = sessions;
  drawSessionList();
}

function drawSessionList() {
  const wanted = $('sessionSearch').value.trim().toLowerCase();
  const rows = S.sessions.filter((s) => s.title.toLowerCase().includes(wanted)).map((s) => {
    const row = el('div', 'session-item');
    row.dataset.sid = s.session_id;
    row.setAttribute('role', 'listitem');
    const open = el('button', 'session-open');
    open.type = 'button';
    open.append(el('span', 'session-title', s.title),
      el('span', 'session-meta', s.active_stream_id ? 'answering…' : new Date(s.updated_at * 1000).toLocaleString([], {dateStyle: 'medium', timeStyle: 'short'})));
    open.addEventListener('click', () => loadSession(s.session_id));
    const more = el('button', 'icon session-delete', '×');
    more.type = 'button';
    more.setAttribute('aria-label', `Delete ${s.title}`);
    more.addEventListener('click', () => deleteSession(s.session_id));
    if (S.session && S.session.session_id === s.session_id) {
      row.classList.add('active');
      open.setAttribute('aria-current', 'true');
    }
    row.append(open, more);
    return row;
  });
  if (!rows.length) rows.push(el('p', 'session-none', wanted ? 'Nothing found.' : 'No conversations yet.'));
  $('sessionList').replaceChildren(...rows);
}

function showTitle() {
  const title = S.session ? S.session.title : 'New chat';
  $('appTitlebarTitle').textContent = title;
}

function place(sid) {
  const path = sid ? '/session/' + encodeURIComponent(sid) : '/';
  if (location.pathname !== path) history.pushState({sid}, '', path);
  if (sid) localStorage.setItem('hermes-webui-session', sid);
  else localStorage.removeItem('hermes-webui-session');
}

function adopt(session) {
  S.session = session;
  S.messages = session ? session.messages : [];
  hideApproval();
  showTitle();
  renderMessages();
  drawSessionList();
}

let opening = 0; // the newest of the openings under way wins
async function loadSession(sid) {
  const mine = ++opening;
  toggleSidebar(false);
  detachStream();
  tellOpened(sid, null, 'preload');
  let session;
  try {
    ({session} = await api('/api/session?session_id=' + encodeURIComponent(sid)));
  } catch (error) {
    if (error.status === 404 && mine === opening) { showHome(); showToast('That conversation is gone.', 3000, 'warning'); }
    return;
  }
  if (mine !== opening) return;
  place(sid);
  adopt(session);
  $('msg').value = (session.composer_draft && session.composer_draft.text) || '';
  if (session.active_stream_id) attachStream(session.active_stream_id);
  watchSession(sid);
  tellOpened(sid, session, 'loaded');
}

async function refreshSession() {
  if (!S.session || S.busy) return;
  const {session} = await api('/api/session?session_id=' + encodeURIComponent(S.session.session_id));
  if (!S.session || S.session.session_id !== session.session_id || S.busy) return;
  adopt(session);
  if (session.active_stream_id) attachStream(session.active_stream_id);
}

// showHome is the page without a conversation; one is made by the first message.
function showHome() {
  opening += 1;
  toggleSidebar(false);
  detachStream();
  watchSession(null);
  place(null);
  adopt(null);
  $('msg').value = '';
  $('msg').focus();
}

async function newSession() {
  const {session} = await post('/api/session/new', {});
  place(session.session_id);
  adopt(session);
  watchSession(session.session_id);
  return session;
}

async function deleteSession(sid) {
  await post('/api/session/delete', {session_id: sid});
  if (S.session && S.session.session_id === sid) showHome();
  renderSessionList();
}

async function renameSession() {
  if (!S.session) return;
  const title = prompt('Title of this conversation', S.session.title);
  if (!title) return;
  const {session} = await post('/api/session/rename', {session_id: S.session.session_id, title});
  S.session.title = session.title;
  showTitle();
  renderSessionList();
}

let draftTimer;
function keepDraft() {
  clearTimeout(draftTimer);
  draftTimer = setTimeout(() => {
    if (S.session) post('/api/session/draft', {session_id: S.session.session_id, draft: {text: $('msg').value}}).catch(() => {});
  }, 800);
}

// The two streams that stay open: all conversations, and the one on screen.
let listStream, sessionStream;
function watchList() {
  listStream = new EventSource('/api/sessions/events');
  listStream.addEventListener('sessions_changed', () => renderSessionList().catch(() => {}));
}
function watchSession(sid) {
  if (sessionStream) sessionStream.close();
  sessionStream = null;
  if (!sid) return;
  sessionStream = new EventSource(`/api/session/stream?session_id=${encodeURIComponent(sid)}&known_count=${S.messages.length}`);
  sessionStream.addEventListener('server_turn_started', (event) => {
    const {stream_id: stream} = JSON.parse(event.data);
    if (!S.busy) refreshSession().catch(() => {});
    else if (S.activeStreamId && S.activeStreamId !== stream) attachStream(stream);
  });
}
