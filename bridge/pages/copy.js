// Buttons that copy ids.

/**
 * Wires the page's own copy button, if there is one.
 *
 * @param {() => string} text  what to copy
 */
export function copyButton(text) {
  const button = document.querySelector('[data-copy]');
  if (button instanceof HTMLElement) wire(button, text);
}

/**
 * Makes a copy button.
 *
 * @param {string} text  what to copy
 */
export function makeCopyButton(text) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'quiet';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy ${text}`);
  wire(button, () => text);
  return button;
}

/**
 * @param {HTMLElement} button
 * @param {() => string} text
 */
function wire(button, text) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    button.textContent = (await copy(text())) ? 'Copied' : 'Not copied';
    setTimeout(() => { button.textContent = label; }, 2_000);
  });
}

/**
 * @param {string} text
 * @returns {Promise<boolean>}
 */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The page that frames us may keep the clipboard to itself; a selection
    // can still be copied.
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'sr-only';
    document.body.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    return copied;
  }
}
