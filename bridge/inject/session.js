// What the WebUI's page has open. Its state is a lexical global of its own
// scripts, S; where there is none (yet), the address and what the page put by
// say which session it will open.

const LOOK_EVERY = 500; // ms
const FOREIGN_ID = /^[A-Za-z0-9_.:-]{1,128}$/;

/**
 * The WebUI's state, as far as it is used here.
 *
 * @typedef {object} WebUI
 * @property {{session_id?: unknown, title?: unknown} | null} [session]
 * @property {unknown} [activeStreamId]
 * @property {boolean} [_bootReady]
 */

/** @typedef {{id: string, title: string}} Session */

/** @returns {WebUI | null} */
export function webui() {
  try {
    // @ts-ignore: declared by the WebUI's scripts
    return typeof S === 'object' ? S : null;
  } catch {
    return null; // its script has not come to the declaration
  }
}

/**
 * Whether text may be an id of the gateway (contracts 1).
 *
 * @param {unknown} text
 * @returns {text is string}
 */
export function isForeignId(text) {
  return typeof text === 'string' && FOREIGN_ID.test(text);
}

/** @returns {Session | null} */
export function currentSession() {
  const page = webui();
  const open = page?.session;
  if (open && isForeignId(open.session_id)) return { id: open.session_id, title: typeof open.title === 'string' ? open.title : '' };
  if (page?._bootReady) return null;
  const inPath = /^\/session\/([^/]+)/.exec(location.pathname)?.[1];
  const id = inPath === undefined ? localStorage.getItem('hermes-webui-session') : decodeURIComponent(inPath);
  return isForeignId(id) ? { id, title: '' } : null;
}

/**
 * Tells which session is open, now and at each change.
 *
 * @param {(session: Session | null) => void} changed
 */
export function watchSession(changed) {
  let last = '';
  const look = () => {
    /** @type {Session | null} */
    let session = null;
    try {
      session = currentSession();
    } catch {
      return; // a page of another version; the next look may do
    }
    const now = session ? `${session.id} ${session.title}` : '';
    if (now === last) return;
    last = now;
    changed(session);
  };
  setInterval(look, LOOK_EVERY);
  look();
}
