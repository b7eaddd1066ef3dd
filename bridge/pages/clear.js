// The page between two users, and at a sign-out: what the browser keeps of the
// chat goes before anything else happens.

import { clearChat } from './chat.js';

const section = document.querySelector('[data-clear]');
const onward = section?.querySelector('a[data-onward]');
const progress = section?.querySelector('[data-progress]');
const failed = section?.querySelector('[data-failed]');
const choice = section?.querySelector('[data-choice]');
if (
  section instanceof HTMLElement && onward instanceof HTMLAnchorElement && progress instanceof HTMLElement &&
  failed instanceof HTMLElement && choice instanceof HTMLElement
) {
  const clear = async () => {
    progress.hidden = false;
    failed.hidden = choice.hidden = true;
    if (await clearChat(section.dataset.ticket)) {
      location.replace(onward.href);
      return;
    }
    progress.hidden = true;
    failed.hidden = choice.hidden = false;
  };
  choice.querySelector('[data-retry]')?.addEventListener('click', clear);
  void clear();
}
