// Makes elements. Text goes in as text, never as markup.

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * Finds what a page's own template has.
 *
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function part(root, selector) {
  const found = root.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return found;
}

/**
 * A time of today by the clock alone, another with its day.
 *
 * @param {string} time  RFC 3339
 * @returns {HTMLTimeElement}
 */
export function timeElement(time) {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  const text = Number.isNaN(date.valueOf()) ? time
    : today ? date.toLocaleTimeString(undefined, { timeStyle: 'medium' })
    : date.toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });
  return element('time', { datetime: time, title: date.toLocaleString() }, text);
}

/**
 * Text of an agent's as it is, with what would not be seen, or would move what
 * is seen, told by its code.
 *
 * @param {string} text
 */
export function plain(text) {
  return text.replace(/[^\P{C}\n\t]|[^\P{Z} ]|[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]/gu, (c) => `⟨U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
