// The contract's pages: the list of records is searched as one types, and the
// example can be copied. Without this the search is the router's.

import { copyButton } from './copy.js';

copyButton(() => document.querySelector('[data-example]')?.textContent ?? '');
document.querySelector('.contents a[aria-current]')?.scrollIntoView({ block: 'nearest' });

const form = document.querySelector('[data-filter]');
const field = form?.querySelector('input');
if (form instanceof HTMLFormElement && field) {
  field.addEventListener('input', () => search(field.value));
  form.addEventListener('submit', (event) => {
    const first = document.querySelector('[data-group]:not([hidden]) li:not([hidden]) a');
    if (!(first instanceof HTMLAnchorElement) || field.value.trim() === '') return;
    event.preventDefault();
    location.assign(first.href);
  });
}

/** @param {string} text */
function search(text) {
  const wanted = text.trim().toLowerCase();
  let all = 0, found = 0;
  for (const group of document.querySelectorAll('[data-group]')) {
    let here = 0;
    for (const item of group.querySelectorAll('li')) {
      item.hidden = !item.dataset.words?.includes(wanted);
      all++;
      if (!item.hidden) here++;
    }
    if (group instanceof HTMLElement) group.hidden = here === 0;
    found += here;
  }
  const said = document.querySelector('[data-found]');
  if (said) said.textContent = wanted === '' ? '' : `${found} of ${all}`;
}
