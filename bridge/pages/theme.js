// A framed page's side of the bridge: it says that it listens, takes the
// WebUI's theme, the id of the conversation that it shows, how high it may be
// and that it was moved, passes Escape on, and tells how much waits for a decision and how high it
// is. Messages are taken only from the chat origin and from the window that
// frames us, and only values that can be nothing but a colour, a list of fonts,
// a size or an id are used.

import { CONVERSATION_ID } from './api.js';

const COLOUR = /^[a-z0-9#%(),./\s+-]{1,96}$/i;
const INDIRECT = /(var|env|attr|url|image)\s*\(/i;
const FONTS = /^[\w\s"',-]{1,240}$/;
const PIXELS = /^(1[1-9]|2[0-4])(\.\d{1,4})?px$/;

const COLOUR_VARS = [
  '--bg', '--sidebar', '--surface', '--text', '--muted', '--border', '--border2',
  '--accent', '--accent-hover', '--accent-bg', '--accent-bg-strong', '--accent-text',
  '--input-bg', '--hover-bg', '--error', '--success', '--warning', '--info', '--focus-ring',
];
const FONT_VARS = ['--font-ui', '--font-mono'];

/**
 * Joins the bridge of the page that frames this one.
 *
 * @param {(id: string | null) => void} showConversation
 * @param {object} [told]
 * @param {(height: number) => void} [told.room]  how high the page may be, in px
 * @param {() => void} [told.moved]  its frame has another place or size
 * @returns {{tell: (message: Record<string, unknown>) => void} | undefined} undefined where no page frames this one
 */
export function joinBridge(showConversation, { room, moved } = {}) {
  const chat = document.documentElement.dataset.chat;
  if (!chat || window.parent === window) return undefined;
  const tell = (/** @type {Record<string, unknown>} */ message) => window.parent.postMessage({ hux: 1, ...message }, chat);

  window.addEventListener('message', (event) => {
    if (event.origin !== chat || event.source !== window.parent) return;
    if (event.data?.hux !== 1) return;
    const { type, id, height } = event.data;
    if (type === 'theme') applyTheme(event.data);
    if (type === 'room' && typeof height === 'number' && height > 0) room?.(height);
    if (type === 'moved') moved?.();
    if (type === 'conversation') showConversation(typeof id === 'string' && CONVERSATION_ID.test(id) ? id : null);
  });
  window.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') tell({ type: 'close' });
  });
  tell({ type: 'ready' });
  return { tell };
}

/** @param {{dark?: unknown, fontSize?: unknown, vars?: unknown}} theme */
function applyTheme({ dark, fontSize, vars }) {
  const root = document.documentElement;
  root.dataset.theme = dark === true ? 'dark' : 'light';
  const values = vars !== null && typeof vars === 'object' ? /** @type {Record<string, unknown>} */ (vars) : {};
  for (const name of COLOUR_VARS) set(name, values[name], isColour);
  for (const name of FONT_VARS) set(name, values[name], (text) => FONTS.test(text));
  set('font-size', fontSize, (text) => PIXELS.test(text));

  /**
   * @param {string} name
   * @param {unknown} value
   * @param {(text: string) => boolean} valid
   */
  function set(name, value, valid) {
    if (typeof value === 'string' && valid(value)) root.style.setProperty(name, value);
    else root.style.removeProperty(name);
  }
}

/** @param {string} text */
function isColour(text) {
  return COLOUR.test(text) && !INDIRECT.test(text) && CSS.supports('color', text);
}
