// What our pages ask of the chat host.

const TIMEOUT = 10_000; // ms

/**
 * Ends what this browser has on the chat host: its session there, and all that
 * is kept. The WebUI's service worker sees no request of ours; it could hold up
 * anything that navigates there. With one origin there is no other host.
 *
 * @param {string} [ticket]  names the session that this is done for
 * @returns {Promise<boolean>} whether it was done
 */
export async function clearChat(ticket = '') {
  const { chat, console: own } = document.documentElement.dataset;
  if (chat === own) return true;
  try {
    const answer = await fetch(`${chat}/hux/auth/clear`, {
      method: 'POST',
      credentials: 'include',
      body: new URLSearchParams({ ticket }),
      signal: AbortSignal.timeout(TIMEOUT),
    });
    return answer.ok;
  } catch {
    return false;
  }
}
