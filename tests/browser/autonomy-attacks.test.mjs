// What a script in the WebUI's page tries so that something is decided without
// the person: the API, forged headers and messages, and frames that are
// covered, see-through, scaled, moved, or shown just under a click.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request, until } from '../lib/hux.mjs';
import { armed, composerFrame, demoWithAgent, openSession } from './agent.mjs';
import { picture, signedIn } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Frame} Frame */

// A page that a test makes up counts as one from elsewhere, which Chromium would
// keep from reaching anything on this machine, before our own fences are met.
const running = demoWithAgent(['--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests']);

const PAGE = `<!doctype html><title>attacker</title><style>
body { margin: 0; background: #fff }
#box { position: absolute; left: 40px; top: 60px; width: 700px; height: 480px }
iframe { display: block; width: 100%; height: 100%; border: 0 }
#over { position: absolute; left: 0; top: 0; z-index: 9; width: 800px; height: 600px; background: #fff; pointer-events: none }
</style><h1 style="font-size: 20px; margin: 10px 40px">Win a prize: press the button</h1><div id="box"></div>`;

/**
 * A page on the chat origin without the WebUI's policy, which would stop some
 * of this in the browser already; alice is signed in, and a run is under way.
 */
async function attacker() {
  const { hux, agent } = running;
  const chat = await signedIn(running, 'alice', { viewport: { width: 1000, height: 700 } });
  const conversation = await agent.conversation(await openSession(chat));
  const run = await agent.run(conversation);
  const page = await chat.context().newPage();
  await page.route(`${hux.chat}/hux/api/bare`, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
  await page.goto(`${hux.chat}/hux/api/bare`);
  return { chat, page, conversation, run };
}

/**
 * Frames the page of cards as the bridge does, for a conversation.
 *
 * @param {Page} page
 * @param {string} conversation
 * @returns {Promise<Frame>}
 */
async function frameCards(page, conversation) {
  await page.evaluate(([origin, id]) => {
    const frame = document.createElement('iframe');
    frame.src = `${origin}/hux/api/ui/decisions`;
    addEventListener('message', (event) => {
      if (event.source === frame.contentWindow && event.data?.type === 'ready') frame.contentWindow?.postMessage({ hux: 1, type: 'conversation', id }, origin ?? '');
    });
    document.querySelector('#box')?.replaceChildren(frame);
  }, [running.hux.console, conversation]);
  return composerFrame(page);
}

/**
 * Where a choice of a card is on the page.
 *
 * @param {Frame} frame
 * @param {string} id
 */
async function placeOf(frame, id) {
  const box = await frame.locator(`[data-approval="${id}"] [data-choice="once"]`).boundingBox();
  assert.ok(box);
  return { x: box.x + 40, y: box.y + box.height / 2 };
}

/**
 * Presses the same place over and over while a card comes to be there, and goes
 * on for longer than a card takes to be ready: the page says that it was too
 * early, and nothing is decided.
 *
 * @param {Page} page
 * @param {{x: number, y: number}} place
 * @param {() => Promise<string>} come  makes the card come, and gives its id
 */
async function drum(page, place, come) {
  const id = await come();
  let told = 0; // when
  for (let n = 0; told === 0 || Date.now() - told < 1_500; n++) {
    await page.mouse.click(place.x, place.y);
    if (told === 0 && await page.isVisible('text=had only just appeared or moved')) told = Date.now();
    assert.ok(n < 2_000, 'never told that it was too early');
  }
  await running.agent.undecided(id, 0);
  return id;
}

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

test('the API takes no decision from the chat origin, however it is sent', async () => {
  const { hux, agent } = running;
  const { page, chat, conversation, run } = await attacker();
  const { approval_id: id, evidence_hash: hash } = await agent.ask(conversation, run);
  const seen = await page.evaluate(async ({ origin, id, hash, conversation }) => {
    const body = JSON.stringify({ choice: 'always', evidence_hash: hash });
    const json = { 'Content-Type': 'application/json' };
    const own = async (/** @type {string} */ path, /** @type {RequestInit} */ init) => {
      const answer = await fetch(`/hux/v1${path}`, { method: 'POST', headers: json, ...init });
      return (await answer.json()).code;
    };
    const across = (/** @type {string} */ path, /** @type {RequestInit} */ init) =>
      fetch(`${origin}/hux/v1${path}`, { method: 'POST', credentials: 'include', ...init }).then((answer) => answer.type, () => 'blocked');
    const results = {
      own: [
        await own(`/approvals/${id}`, { body }),
        await own(`/approvals/${id}`, { body, headers: { ...json, 'HUX-Actor': 'human', 'HUX-User': 'usr_x', 'X-Forwarded-User': 'alice', 'X-Forwarded-Host': 'console.hux.localhost' } }),
        await own(`/policy?scope=conversation:${conversation}`, { method: 'PUT', body: '{"level":"autonomous"}', headers: { ...json, 'If-Match': '*' } }),
        await own('/grants', { body: JSON.stringify({ capability: 'execute', effect: 'allow', duration: 'session', match: { tool: 'terminal', args_hash: hash }, scope: { conversation_id: conversation } }) }),
      ],
      across: [
        await across(`/approvals/${id}`, { body, headers: json }),
        await across(`/approvals/${id}`, { body, mode: 'no-cors' }),
        await across(`/approvals/${id}`, { body: new Blob([body], { type: 'text/plain' }), mode: 'no-cors', keepalive: true }),
      ],
      beacon: navigator.sendBeacon(`${origin}/hux/v1/approvals/${id}`, new Blob([body], { type: 'text/plain' })),
    };
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded']) {
      const form = document.createElement('form');
      const target = document.createElement('iframe');
      target.name = `target-${enctype}`;
      Object.assign(form, { method: 'post', enctype, action: `${origin}/hux/v1/approvals/${id}`, target: target.name });
      const field = document.createElement('input');
      field.name = body.slice(0, -1) + ',"x":"';
      field.value = '"}';
      form.append(field);
      document.body.append(target, form);
      form.submit();
    }
    return results;
  }, { origin: hux.console, id, hash, conversation });
  assert.deepEqual(seen.own, Array(4).fill('console_required'));
  assert.equal(seen.across[0], 'blocked');
  await agent.undecided(id, 1_000);

  // Whatever a program says it is, with the cookie of either host or the agent's credential.
  const forged = { Origin: hux.console, 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
  const cookies = async (/** @type {string} */ origin) => (await page.context().cookies(origin)).map((c) => `${c.name}=${c.value}`).join('; ');
  const body = JSON.stringify({ choice: 'once', evidence_hash: hash });
  for (const [what, url, headers, code] of /** @type {[string, string, Record<string, string>, string][]} */ ([
    ['the chat’s cookie on the console', hux.console, { ...forged, Cookie: await cookies(hux.chat) }, 'unauthenticated'],
    ['the console’s cookie from the chat', hux.console, { ...forged, Origin: hux.chat, 'Sec-Fetch-Site': 'same-site', Cookie: await cookies(hux.console) }, 'cross_origin'],
    ['the console’s cookie without an origin', hux.console, { 'Content-Type': 'application/json', Cookie: await cookies(hux.console) }, 'cross_origin'],
    ['the agent as a person', hux.api, { 'Content-Type': 'application/json', Authorization: `Bearer ${agent.token}`, 'HUX-Actor': 'human', 'X-Forwarded-User': 'alice', 'HUX-Surface': 'chat', 'Idempotency-Key': 'forged' }, 'human_required'],
  ])) {
    const answer = await request(`${url}/hux/v1/approvals/${id}`, { method: 'POST', headers, body });
    assert.equal(answer.json().code, code, `${what}: ${answer.text}`);
  }
  assert.deepEqual((await agent.must('GET', '/grants')).items, []);
  assert.equal((await agent.must('GET', `/policy?scope=conversation:${conversation}`)).level, 'ask_first');
  await agent.undecided(id);
  await chat.context().close();
});

test('a framed card that is covered, see-through, clipped or distorted takes no click', async () => {
  const { agent } = running;
  const { page, chat, conversation, run } = await attacker();
  const frame = await frameCards(page, conversation);
  const { approval_id: id } = await agent.ask(conversation, run, { seconds: 280 });
  await armed(frame, id);
  const place = await placeOf(frame, id);
  /** @type {Record<string, string>} what is done to the page, as the style of the box around the frame, or over it */
  const disguises = {
    'covered all over': 'over',
    'its words covered': 'over: left: 60px; top: 110px; width: 500px; height: 60px',
    'a corner of its words covered': 'over: left: 60px; top: 104px; width: 12px; height: 12px',
    'see-through': 'opacity: .01',
    'a little see-through': 'opacity: .9',
    blurred: 'filter: blur(6px)',
    inverted: 'filter: invert(1)',
    blended: 'mix-blend-mode: multiply; opacity: .999',
    turned: 'transform: rotate(1deg)',
    shrunk: 'transform: scale(.98)',
    skewed: 'transform: skewX(2deg)',
    clipped: 'clip-path: inset(150px 0 0 0)',
    'cut off': 'height: 250px; overflow: hidden',
    'blended away': 'mix-blend-mode: lighten',
    'under a shadow': 'over: left: -60px; top: -60px; width: 40px; height: 40px; box-shadow: 0 0 0 600px #fff',
  };
  for (const [name, style] of Object.entries(disguises)) {
    await page.evaluate((style) => {
      const box = /** @type {HTMLElement} */ (document.querySelector('#box'));
      document.querySelector('#over')?.remove();
      box.removeAttribute('style');
      if (style.startsWith('over')) {
        const over = document.createElement('div');
        over.id = 'over';
        over.setAttribute('style', style.slice(5));
        document.body.append(over);
      } else {
        box.setAttribute('style', style);
        if (style.startsWith('height')) for (const f of box.querySelectorAll('iframe')) f.style.height = '480px';
      }
    }, style);
    await pause(1_200);
    await page.mouse.move(5, 5);
    await page.mouse.click(place.x, place.y);
    await pause(200);
    assert.equal((await agent.approval(id)).status, 'pending', name);
    if (name === 'its words covered') {
      await frame.waitForSelector('text=Something lies over this card');
      await frame.waitForSelector('a:has-text("Open it in its own window")');
      await picture(page, 'autonomy-covered');
    }
  }

  // As it should be, the same click decides: it was the disguise that kept it off.
  await page.evaluate(() => { document.querySelector('#over')?.remove(); document.querySelector('#box')?.removeAttribute('style'); });
  await armed(frame, id);
  const open = await placeOf(frame, id);
  await page.mouse.click(open.x, open.y);
  assert.equal((await agent.decided(id)).decision.choice, 'once');
  await chat.context().close();
});

test('what has only just appeared, or been moved under the pointer, takes no click', async () => {
  const { agent, hux } = running;
  const { page, chat, conversation, run } = await attacker();
  const frame = await frameCards(page, conversation);
  const { approval_id: id } = await agent.ask(conversation, run, { seconds: 280 });
  await armed(frame, id);
  const place = await placeOf(frame, id);

  // Hidden in one way or another, then shown under the pointer as it is pressed.
  for (const hiding of ['display: none', 'visibility: hidden', 'height: 0; overflow: hidden', 'left: -900px', 'opacity: 0', 'z-index: -1; filter: opacity(0)', 'clip: rect(0, 700px, 150px, 0)']) {
    await page.evaluate((style) => document.querySelector('#box')?.setAttribute('style', style), hiding);
    await page.mouse.move(place.x, place.y);
    await pause(1_000);
    await page.mouse.click(place.x, place.y); // the first of two presses
    await page.evaluate(() => document.querySelector('#box')?.removeAttribute('style'));
    for (let n = 0; n < 6; n++) {
      await pause(60);
      await page.mouse.click(place.x, place.y);
    }
    await pause(250);
    assert.equal((await agent.approval(id)).status, 'pending', hiding);
    await pause(600);
  }

  // Moved, while it stays in sight.
  await armed(frame, id);
  await page.mouse.move(900, 640);
  await pause(800);
  await page.evaluate(([dx, dy]) => document.querySelector('#box')?.setAttribute('style', `left: ${40 + (dx ?? 0)}px; top: ${60 + (dy ?? 0)}px`), [900 - place.x, 640 - place.y]);
  await pause(40);
  await page.mouse.click(900, 640);
  await pause(300);
  assert.equal((await agent.approval(id)).status, 'pending', 'moved under the pointer');
  await page.evaluate(() => document.querySelector('#box')?.removeAttribute('style'));

  // A card that comes under a pointer that is being pressed.
  const own = await chat.context().newPage();
  await own.goto(`${hux.console}/hux/api/ui/decisions#${conversation}`);
  await armed(own, id);
  const { x, y } = /** @type {{x: number, y: number}} */ (await own.locator(`[data-approval="${id}"] [data-choice="once"]`).boundingBox());
  await own.click(`[data-approval="${id}"] [data-choice="deny"]`);
  await agent.decided(id);
  await own.waitForSelector('[data-decisions]', { state: 'hidden' });
  const place2 = { x: x + 20, y: y + 10 };
  const other = await drum(own, place2, async () => (await agent.ask(conversation, run, { args: { command: `rm -r other/ # ${Math.random()}` } })).approval_id);

  // A window that opens under the second press of a double click.
  const third = await chat.context().newPage();
  await drum(third, place2, async () => {
    await third.goto(`${hux.console}/hux/api/ui/decisions#${conversation}`);
    return other;
  });
  await chat.context().close();
});

test('messages, keys and scripted clicks decide nothing', async () => {
  const { agent, hux } = running;
  const { page, chat, conversation, run } = await attacker();
  const frame = await frameCards(page, conversation);
  const { approval_id: id, evidence_hash: hash } = await agent.ask(conversation, run, { seconds: 280 });
  await armed(frame, id);
  await page.evaluate(async ({ origin, id, hash, conversation }) => {
    const frame = /** @type {HTMLIFrameElement} */ (document.querySelector('iframe'));
    const other = `cnv_${'0'.repeat(32)}`;
    const fake = { id, status: 'approved', conversation_id: conversation, request: { tool: 'read_file', args_redacted: {}, choices: ['always'], evidence: [{ hash }] } };
    for (const message of [
      { hux: 1, type: 'armed' }, { hux: 1, type: 'decide', id, choice: 'always' }, { hux: 1, type: 'choose', approval_id: id, choice: 'once', evidence_hash: hash },
      { hux: 1, type: 'approval', approval: fake }, { hux: 1, type: 'pending', items: [fake] }, { hux: 1, type: 'event', event: { kind: 'approval.resolved', data: { approval_id: id } } },
      { hux: 1, type: 'conversation', id: `${other}"><img src=x onerror=alert(1)>` }, { hux: 1, type: 'conversation', id: { toString: () => conversation }.toString() },
      { hux: 1, type: 'theme', dark: false, vars: { '--text': '#ffffff', '--bg': '#ffffff', '--surface': '#ffffff', '--muted': '#ffffff', '--font-mono': 'Webdings', '--font-ui': 'Wingdings' } },
      'decide', null, 42,
    ]) frame.contentWindow?.postMessage(message, origin);
    // And as if a page of ours had signed in again.
    const channel = new BroadcastChannel('hux-signed-in-again');
    channel.postMessage(null);
    channel.close();
  }, { origin: hux.console, id, hash, conversation });
  await agent.undecided(id);
  await frame.waitForSelector(`[data-approval="${id}"]`);
  const look = await frame.evaluate(() => {
    const of = (/** @type {string} */ selector) => getComputedStyle(/** @type {Element} */ (document.querySelector(selector)));
    return { text: of('.call dd').color, back: of('.call-box').backgroundColor, label: of('.deny .label').color, font: of('.call dd').fontFamily };
  });
  assert.notEqual(look.text, look.back, 'no theme hides what would run');
  assert.ok(look.label !== look.back && !/dings/.test(look.font), JSON.stringify(look));
  await picture(page, 'autonomy-theme-attack');

  // Typing that a script leads into the frame.
  await armed(frame, id);
  await page.evaluate(() => document.querySelector('iframe')?.focus());
  await page.keyboard.type('oooo aaaa', { delay: 30 });
  await page.keyboard.press('Enter');
  await page.keyboard.press('Space');
  await agent.undecided(id);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('o');
  await page.keyboard.press('Enter'); // within the moment after the last key that was for something else
  await agent.undecided(id);

  // A script in our own page would have other ways; this one is not a person's press.
  await frame.evaluate((id) => {
    const button = /** @type {HTMLElement | null} */ (document.querySelector(`[data-approval="${id}"] [data-choice="once"]`));
    button?.click();
    button?.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1 }));
  }, id);
  await agent.undecided(id);
  await chat.context().close();
});

test('the chat origin alone may frame a page of cards, and no other page of Autonomy', async () => {
  const { hux } = running;
  const page = await signedIn(running, 'alice');
  const outside = await page.context().newPage();
  for (const [top, path, framed] of /** @type {[string, string, boolean][]} */ ([
    [`${hux.chat}/hux/api/bare`, 'decisions', true],
    [`${hux.chat}/hux/api/bare`, 'autonomy', false],
    [`${hux.chat}/hux/api/bare`, 'signed-in-again', false],
    ['http://evil.localhost/', 'decisions', false],
  ])) {
    await outside.route(top, (route) => route.fulfill({ contentType: 'text/html', body: `<!doctype html><iframe src="${hux.console}/hux/api/ui/${path}"></iframe>` }));
    await outside.goto(top);
    const frame = await until(() => outside.frames()[1], { what: 'a frame' });
    await frame.waitForLoadState().catch(() => {});
    assert.equal(await frame.evaluate(() => document.querySelector('main') !== null).catch(() => false), framed, `${path} in ${top}`);
    await outside.unroute(top);
  }
  await page.context().close();
});
