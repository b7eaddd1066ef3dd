// What the bridge puts into the page: elements, callbacks that fail alone, and
// pages of the console in frames.

/** The WebUI's custom properties that a framed page may take over. */
const THEME_VARS = [
  '--bg', '--sidebar', '--surface', '--text', '--muted', '--border', '--border2',
  '--accent', '--accent-hover', '--accent-bg', '--accent-bg-strong', '--accent-text',
  '--input-bg', '--hover-bg', '--error', '--success', '--warning', '--info',
  '--focus-ring', '--font-ui', '--font-mono',
];

/** @typedef {{type: unknown, [name: string]: unknown}} Message */

/**
 * Wraps a callback so that what it throws stays here.
 *
 * @template {any[]} A
 * @param {(...args: A) => void | Promise<void>} callback
 * @returns {(...args: A) => void}
 */
export function guarded(callback) {
  return async (...args) => {
    try {
      await callback(...args);
    } catch (error) {
      console.warn('hux bridge:', error);
    }
  };
}

/**
 * Makes an element.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A frame with a page of the console, which is told the theme and the conversation. */
export class Framed {
  /**
   * @param {string} origin  of the console
   * @param {string} path
   * @param {{class: string, title: string}} attributes
   * @param {(message: Message) => void} take  what the page says
   */
  constructor(origin, path, attributes, take) {
    this.origin = origin;
    this.take = take;
    this.ready = false;
    /** @type {string | null} */
    this.conversation = null;
    this.watched = 0; // the next look at where it is
    this.place = '';
    this.root = element('iframe', { ...attributes, src: origin + path });
    this.root.classList.add('hux-waiting');
    this.listener = guarded((/** @type {MessageEvent} */ event) => this.receive(event));
    window.addEventListener('message', this.listener);
    this.observer = new MutationObserver(guarded(() => this.sendTheme()));
    this.observer.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ['class', 'style', 'data-skin', 'data-font-size'],
    });
  }

  close() {
    this.watch(false);
    window.removeEventListener('message', this.listener);
    this.observer.disconnect();
  }

  /** @param {MessageEvent} event */
  receive(event) {
    const source = this.root.contentWindow;
    if (!source || event.source !== source || event.origin !== this.origin || event.data?.hux !== 1) return;
    if (event.data.type === 'ready') {
      this.ready = true;
      this.root.classList.remove('hux-waiting');
      this.sendTheme();
      this.sendConversation();
    }
    if (event.data.type === 'pending') this.watch(event.data.count > 0);
    this.take(event.data);
  }

  /**
   * Tells the page when its frame moves, which it can't see: what is pressed then
   * was aimed at what was there before. The browser drops such presses itself.
   *
   * @param {boolean} on  while the page shows what can be decided
   */
  watch(on) {
    cancelAnimationFrame(this.watched);
    if (!on) return;
    this.watched = requestAnimationFrame(() => {
      const { left, top, width, height } = this.root.getBoundingClientRect();
      const place = [left, top, width, height].join();
      if (place !== this.place) this.send({ type: 'moved' });
      this.place = place;
      this.watch(true);
    });
  }

  /** @param {string | null} conversation  that the page has open */
  show(conversation) {
    if (this.conversation === conversation) return;
    this.conversation = conversation;
    this.sendConversation();
  }

  sendConversation() {
    this.send({ type: 'conversation', id: this.conversation });
  }

  /** @param {Message} message */
  send(message) {
    if (this.ready) this.root.contentWindow?.postMessage({ hux: 1, ...message }, this.origin);
  }

  sendTheme() {
    const style = getComputedStyle(document.body);
    /** @type {Record<string, string>} */
    const vars = {};
    for (const name of THEME_VARS) {
      const value = style.getPropertyValue(name).trim();
      if (value) vars[name] = value;
    }
    this.send({
      type: 'theme',
      dark: document.documentElement.classList.contains('dark'),
      fontSize: getComputedStyle(document.documentElement).fontSize,
      vars,
    });
  }
}
