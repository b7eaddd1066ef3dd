'use strict';
// Messages, sending, the stream of a turn, approvals.
function messageRow(role, index, id) {
  const row = el('div', 'msg-row');
  row.dataset.role = role;
  if (index !== undefined) row.dataset.msgIdx = index;
  if (id !== undefined) row.dataset.sessionMsgIdx = id;
  if (role === 'user' && index !== undefined) row.id = `msg-user-${index}`;
  return row;
}

function assistantParts(row) {
  const turn = el('div', 'assistant-turn');
  if (S.session) turn.dataset.sessionId = S.session.session_id;
  const blocks = el('div', 'assistant-turn-blocks');
  turn.append(blocks);
  row.append(turn);
  return blocks;
}

function toolRow(call) {
  const group = el('details', 'tool-worklog-group');
  const head = el('summary');
  head.append(el('span', 'tool-name', call.name), el('code', '', call.preview || ''));
  const state = el('span', 'tool-state', 'running…');
  head.append(state);
  const result = el('pre', 'tool-result');
  group.append(head, result);
  group.finish = (text, refused) => {
    state.textContent = refused ? 'did not run' : 'done';
    result.textContent = text;
    group.classList.add('finished');
    group.classList.toggle('refused', Boolean(refused));
  };
  if (call.result !== undefined) group.finish(call.result, call.is_error);
  return group;
}

function renderMessages() {
  const inner = $('msgInner');
  const rows = S.messages.map((m, index) => {
    const row = messageRow(m.role, index, m.id);
    row.dataset.rawText = m.content;
    if (m.role === 'user') {
      row.append(el('div', 'msg-body', m.content));
      return row;
    }
    const blocks = assistantParts(row);
    for (const call of (S.session.tool_calls || []).filter((t) => t.assistant_message_id === m.id)) blocks.append(toolRow(call));
    const segment = el('div', 'assistant-segment');
    segment.append(el('div', 'msg-body', m.content));
    blocks.append(segment);
    const foot = el('div', 'msg-foot');
    const actions = el('div', 'msg-actions');
    const copy = el('button', 'link', 'Copy');
    copy.type = 'button';
    copy.addEventListener('click', () => navigator.clipboard.writeText(m.content).then(() => showToast('Copied.')));
    actions.append(copy);
    foot.append(actions);
    blocks.append(foot);
    return row;
  });
  inner.replaceChildren(...rows);
  $('emptyState').hidden = rows.length > 0;
  scrollDown(true);
}

function scrollDown(always) {
  const box = $('messages');
  if (always || box.scrollHeight - box.scrollTop - box.clientHeight < 120) box.scrollTop = box.scrollHeight;
}

function setBusy(stream) {
  S.busy = Boolean(stream);
  S.activeStreamId = stream || null;
  const button = $('btnSend');
  button.dataset.action = S.busy ? 'stop' : 'send';
  button.classList.toggle('stop', S.busy);
  button.setAttribute('aria-label', S.busy ? 'Stop' : 'Send');
  $('composerStatus').textContent = S.busy ? 'answering…' : '';
  enableSend();
}

function enableSend() {
  $('btnSend').disabled = !S.busy && !$('msg').value.trim();
}

async function send() {
  const text = $('msg').value.trim();
  if (!text || S.busy) return;
  try {
    if (!S.session) await newSession();
    const files = S.attachments.splice(0).map((f) => f.filename);
    drawAttachments();
    const message = files.length ? `${text}\n\nAttached: ${files.join(', ')}` : text;
    const started = await post('/api/chat/start', {session_id: S.session.session_id, message, model: 'scripted'});
    clearTimeout(draftTimer);
    $('msg').value = '';
    grow();
    S.messages.push({role: 'user', content: message});
    S.session.title = started.title;
    showTitle();
    renderMessages();
    attachStream(started.stream_id);
  } catch (error) {
    if (error.status === 409 && error.body.active_stream_id) attachStream(error.body.active_stream_id);
    else showToast(error.message, 5000, 'error');
  }
}

async function cancelStream() {
  if (S.activeStreamId) await api('/api/chat/cancel?stream_id=' + S.activeStreamId);
}

let live = null; // the turn on screen: its stream, row and text

function detachStream() {
  if (!live) return;
  live.source.close();
  clearInterval(live.poll);
  delete LIVE_STREAMS[live.sid];
  live = null;
  setBusy(null);
}

// attachStream shows a turn from its first event; the browser's EventSource
// picks up a cut stream by the last event's id.
function attachStream(stream) {
  if (live && live.stream === stream) return;
  detachStream();
  const sid = S.session.session_id;
  const row = messageRow('assistant');
  row.id = 'liveAssistantTurn';
  const blocks = assistantParts(row);
  const segment = el('div', 'assistant-segment');
  const thinking = el('div', 'thinking', '');
  const body = el('div', 'msg-body', '');
  segment.append(body);
  blocks.append(thinking, segment);
  $('msgInner').append(row);
  $('emptyState').hidden = true;
  const source = new EventSource('/api/chat/stream?stream_id=' + stream);
  live = {stream, sid, row, source, tools: {}, poll: setInterval(pollApproval, 1500)};
  LIVE_STREAMS[sid] = live;
  INFLIGHT[sid] = stream;
  setBusy(stream);
  emitTurn('turn:start', {status: 'running'});
  scrollDown(true);

  const on = (name, handler) => source.addEventListener(name, (event) => {
    if (!live || live.source !== source) return;
    $('reconnectBanner').hidden = true;
    handler(event.data ? JSON.parse(event.data) : {});
    scrollDown(false);
  });
  on('token', (d) => { body.textContent += d.text; });
  on('reasoning', (d) => { thinking.textContent += d.text; });
  on('tool', (d) => {
    const group = toolRow({name: d.name, preview: d.preview});
    live.tools[d.tid || d.name] = group;
    blocks.insertBefore(group, segment);
  });
  on('tool_complete', (d) => { const group = live.tools[d.tid || d.name]; if (group) group.finish(d.preview, d.is_error); });
  on('approval', (d) => { if (d.pending) showApproval(d.pending); else hideApproval(); });
  on('title', (d) => { if (S.session) { S.session.title = d.title; showTitle(); } });
  on('done', (d) => { finishTurn('turn:complete', 'completed', d.session); });
  on('cancel', (d) => { finishTurn('turn:cancel', 'cancelled', d.session); showToast(d.message || 'Stopped.'); });
  on('apperror', async (d) => {
    finishTurn('turn:error', 'error');
    await refreshSession().catch(() => {});
    const row = messageRow('assistant');
    const box = el('div', 'app-error');
    box.setAttribute('role', 'alert');
    box.append(el('b', '', d.label), el('p', '', d.message), el('p', 'hint', d.hint || ''));
    row.append(box);
    $('msgInner').append(row);
    scrollDown(true);
  });
  source.addEventListener('error', () => {
    if (!live || live.source !== source) return;
    if (source.readyState === EventSource.CLOSED) {
      detachStream();
      refreshSession().catch(() => {});
    } else {
      $('reconnectBanner').hidden = false;
    }
  });
}

function finishTurn(name, status, session) {
  emitTurn(name, {status});
  delete INFLIGHT[live.sid];
  detachStream();
  hideApproval();
  $('reconnectBanner').hidden = true;
  if (session && S.session && S.session.session_id === session.session_id) adopt(session);
}

let pending = null;
function showApproval(approval) {
  pending = approval;
  $('approvalDesc').textContent = `${approval.tool}: ${approval.description}`;
  $('approvalCmd').textContent = approval.command;
  $('approvalCard').hidden = false;
  $('approvalCard').classList.add('visible');
}

function hideApproval() {
  pending = null;
  $('approvalCard').hidden = true;
  $('approvalCard').classList.remove('visible');
}

async function pollApproval() {
  if (!S.session || !S.busy) return;
  const {pending: now} = await api('/api/approval/pending?session_id=' + S.session.session_id).catch(() => ({pending}));
  if (now && (!pending || pending.approval_id !== now.approval_id)) showApproval(now);
  if (!now && pending) hideApproval();
}

async function respondApproval(choice) {
  if (!pending) return;
  const {approval_id: id} = pending;
  hideApproval();
  try {
    await post('/api/approval/respond', {session_id: S.session.session_id, approval_id: id, choice});
  } catch (error) {
    showToast(error.message, 5000, 'error');
  }
}

function drawAttachments() {
  const chips = S.attachments.map((f, index) => {
    const chip = el('button', 'chip', `${f.filename} ×`);
    chip.type = 'button';
    chip.setAttribute('aria-label', `Remove ${f.filename}`);
    chip.addEventListener('click', () => { S.attachments.splice(index, 1); drawAttachments(); });
    return chip;
  });
  $('attachTray').replaceChildren(...chips);
  $('attachTray').hidden = !chips.length;
}

async function attach(file) {
  if (!file) return;
  if (file.size > window.__HERMES_MAX_UPLOAD__) { showToast('That file is too large.', 5000, 'error'); return; }
  const form = new FormData();
  if (S.session) form.append('session_id', S.session.session_id);
  form.append('file', file);
  try {
    S.attachments.push(await api('/api/upload', {method: 'POST', body: form}));
    drawAttachments();
  } catch (error) {
    showToast(error.message, 5000, 'error');
  }
}

function grow() {
  const box = $('msg');
  box.style.height = 'auto';
  box.style.height = Math.min(box.scrollHeight, 200) + 'px';
  box.classList.toggle('full', box.scrollHeight > 200);
  enableSend();
}
