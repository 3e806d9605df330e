/** The console in a real browser, with the real gateway and real servers. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { defer } from '../support/owned.ts';
import { portToReturnTo } from '../support/port-to-return-to.ts';
import { EVIL, EVIL_NAME } from './evil.ts';
import { startKillable } from './killable.ts';
import { takePictures } from './pictures.ts';
import type { Locator, Page } from './browser.ts';
import { call, go, group, isAccessible, NARROW, signInAgain, Stage, WIDE } from './scene.ts';

const ADA = 'a-token-of-ada-12345';
const BEN = 'a-token-of-ben-12345';
const OPERATORS = { auth: { tokens: { ada: ADA, ben: BEN }, operators: ['ada', 'ben'] } };

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
}, 180_000);

afterAll(() => stage.close());

beforeEach(() => {
  stage.office.answers.length = 0;
  stage.troubles.length = 0;
});

test('W-2: a form with every type of field is filled in and sent', async () => {
  const scene = await stage.scene();
  const page = await stage.signedIn(scene.gateway);
  await page.getByText('No open questions').waitFor();
  await call(scene, 'order');
  // It comes up by itself, since there is room for it.
  await page.getByText('Take your time.').first().waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  await page.getByLabel('Comment').fill('Two\nlines');
  await page.getByLabel('E-mail').fill('ada@example.org');
  await page.getByLabel('Website').fill('https://example.org/');
  await page.getByLabel('Day', { exact: true }).fill('2026-12-24');
  await page.getByLabel('Pick-up').fill('2026-12-24T10:30');
  await page.getByLabel('Weight').fill('1.5');
  expect(await page.getByLabel('Pieces').inputValue()).toBe('2');
  await group(page, 'Gift wrap').getByLabel('Yes').check();
  await group(page, 'Size').getByLabel('Medium').check();
  await page.getByLabel('Colour').selectOption({ label: 'blue' });
  await group(page, 'Extras').getByLabel('A bow').check();
  await group(page, 'Extras').getByLabel('A card').check();
  expect(await group(page, 'Days').getByLabel('tue').isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Send answer' }).click();
  await stage.answersAre([
    {
      kind: 'elicit',
      action: 'accept',
      content: {
        name: 'Ada Lovelace',
        comment: 'Two\nlines',
        email: 'ada@example.org',
        website: 'https://example.org/',
        day: '2026-12-24',
        pickup: expect.stringMatching(/^2026-12-24T10:30:00[+Z-]/),
        weight: 1.5,
        count: 2,
        gift: true,
        size: 'm',
        colour: 'blue',
        extras: ['card', 'bow'],
        days: ['tue'],
      },
    },
  ]);
  await page.getByText('Answered by local in the console').first().waitFor();
  expect(stage.troubles).toEqual([]);
});

test('W-2: an invalid answer gets a message at the field, and is not sent', async () => {
  const scene = await stage.scene();
  await call(scene, 'order');
  const page = await stage.signedIn(scene.gateway);
  await page.getByLabel('Name', { exact: true }).fill('A');
  await page.getByLabel('E-mail').fill('ada');
  await page.getByLabel('Weight').fill('heavy');
  await page.getByLabel('Pieces').fill('7');
  await page.getByRole('button', { name: 'Send answer' }).click();
  const mistake = async (label: string): Promise<string> => {
    const ids = (await page.getByLabel(label, { exact: true }).getAttribute('aria-describedby'))?.split(' ') ?? [];
    return (await page.locator(`[id="${ids.at(-1)}"]`).textContent()) ?? '';
  };
  expect(await mistake('Name')).toBe('Expected at least 2 characters.');
  expect(await mistake('E-mail')).toBe('Expected the format email.');
  expect(await mistake('Weight')).toBe('Expected a number.');
  expect(await mistake('Pieces')).toBe('Expected at most 5.');
  expect(await group(page, 'Size').textContent()).toContain('An answer is required.');
  expect(await group(page, 'Extras').textContent()).toContain('Expected at least 1.');
  // The first wrong field has the focus, and its message goes away when it is right.
  expect(await page.evaluate('document.activeElement.name')).toBe('name');
  await page.keyboard.type('da');
  await expect.poll(() => mistake('Name')).toBe('As on the door (1…30 characters)'.replace('1…', '2…'));
  await isAccessible(page, 'a form with mistakes');
  expect(stage.office.answers).toEqual([]);
});

test('W-2: a mistake that only the gateway finds is shown at the field, too', async () => {
  const scene = await stage.scene();
  await call(scene, 'order');
  const page = await stage.signedIn(scene.gateway);
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  await page.getByLabel('E-mail').fill('ada@example.org');
  await group(page, 'Gift wrap').getByLabel('No').check();
  await group(page, 'Size').getByLabel('Small').check();
  await group(page, 'Extras').getByLabel('A bow').check();
  // The page would not send this.
  await page.evaluate(`
    const real = fetch;
    window.fetch = (url, init) => real(url, { ...init, body: init.body?.replace('"count":2', '"count":9') });`);
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Expected at most 5.', { exact: true }).waitFor();
  expect(await page.getByLabel('Pieces').getAttribute('aria-invalid')).toBe('true');
  expect(stage.office.answers).toEqual([]);
});

test('W-2: content can be edited as JSON with the same validation, and shown as a form again', async () => {
  const scene = await stage.scene();
  await call(scene, 'order');
  const page = await stage.signedIn(scene.gateway);
  await page.getByRole('button', { name: 'Edit as JSON' }).click();
  const editor = page.getByLabel('Content as JSON');
  await editor.fill('{"name": ');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Not valid JSON').waitFor();
  await editor.fill('{"name": "Ada", "email": "a@b", "count": 9, "gift": true, "size": "m", "extras": ["bow"]}');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Count: expected at most 5.').waitFor();
  await page.getByRole('button', { name: 'Use the form' }).click();
  expect(await page.getByLabel('Pieces').inputValue()).toBe('9');
  await page.getByLabel('Pieces').fill('3');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await stage.answersAre([{ content: { name: 'Ada', count: 3, extras: ['bow'] } }]);
});

test('W-2: a question that is too large for lists is loaded in full and answered', async () => {
  const scene = await stage.scene();
  await call(scene, 'approve', { what: 'x'.repeat(70_000) });
  const page = await stage.signedIn(scene.gateway);
  await group(page, 'Approve').getByLabel('Yes').check();
  await page.getByRole('button', { name: 'Send answer' }).click();
  await stage.answersAre([{ content: { ok: true } }]);
});

test('W-2: questions can be declined and dismissed', async () => {
  const scene = await stage.scene();
  await call(scene, 'approve', { what: 'the first' });
  await call(scene, 'approve', { what: 'the second' });
  const page = await stage.signedIn(scene.gateway);
  await page.getByText('Approve the first?').first().waitFor();
  await page.getByRole('button', { name: 'Decline' }).click();
  // The next one comes up.
  await page.getByRole('article').getByText('Approve the second?').waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await stage.answersAre([{ action: 'decline' }, { action: 'cancel' }]);
  await page.getByRole('button', { name: 'Ended' }).click();
  const rows = page.getByRole('list', { name: 'Ended questions' }).getByRole('link');
  await expect.poll(() => rows.count()).toBe(2);
  expect((await rows.allTextContents()).join()).toMatch(/second.*Dismissedby local.*first.*Declinedby local/s);
});

test('W-2: a sampling request is shown with its messages, and answered', async () => {
  const scene = await stage.scene();
  await call(scene, 'think');
  const page = await stage.signedIn(scene.gateway);
  const article = page.getByRole('article');
  await article.getByText('What is in the picture?').waitFor();
  await article.getByText('You are brief.').waitFor();
  await page.waitForFunction("document.querySelector('article img')?.naturalWidth === 160");
  await page.waitForFunction("document.querySelector('article audio')?.duration > 0");
  await page.getByRole('button', { name: 'Send reply' }).click();
  await page.getByText('Write a reply first.').waitFor();
  await page.getByLabel('Reply').fill('A hill.');
  await page.getByLabel('Written by').fill('some-model');
  await page.getByRole('button', { name: 'Send reply' }).click();
  const content = { type: 'text', text: 'A hill.' };
  await stage.answersAre([{ kind: 'sampling', result: { role: 'assistant', model: 'some-model', content } }]);
});

test('W-2, W-7: a URL is opened only after the person has seen its host and agreed', async () => {
  const scene = await stage.scene();
  await call(scene, 'visit');
  const { context, page } = await stage.window();
  await page.goto(`${scene.gateway.console.url}#key=${scene.gateway.console.key}`);
  const { host } = new URL(stage.office.page);
  await page.getByText(`${stage.office.page}/welcome?state=1`).waitFor();
  expect(await page.locator('.host').textContent()).toBe(host);
  expect(await page.locator(`a[href^="${stage.office.page}"]`).count()).toBe(0);
  const [opened] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('button', { name: `Agree and open ${host}` }).click(),
  ]);
  await expect.poll(() => opened.title()).toBe('Welcome');
  expect(await opened.evaluate('window.opener')).toBeNull();
  // The browser might have blocked the new tab.
  const link = page.getByRole('link', { name: `Open ${host}` });
  expect(await link.getAttribute('href')).toBe(`${stage.office.page}/welcome?state=1`);
  expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
  await stage.answersAre([{ action: 'accept' }]);
});

test('W-2, W-6: the first answer wins, and another window shows who answered', async () => {
  const scene = await stage.scene(OPERATORS, ADA);
  await call(scene, 'approve');
  const [ada, ben] = await Promise.all([
    stage.signedIn(scene.gateway, '/inbox', ADA),
    stage.signedIn(scene.gateway, '/inbox', BEN),
  ]);
  await group(ben, 'Approve').getByLabel('No').check();
  await group(ada, 'Approve').getByLabel('Yes').check();
  await ada.getByRole('button', { name: 'Send answer' }).click();
  await ben.getByRole('article').getByText('Answered by ada in the console').waitFor();
  expect(await ben.getByRole('button', { name: 'Send answer' }).count()).toBe(0);
  await stage.answersAre([{ content: { ok: true } }]);
});

test('W-2: a late answer gets a message that names the first answerer', async () => {
  const scene = await stage.scene(OPERATORS, ADA);
  await call(scene, 'approve');
  const ben = await stage.signedIn(scene.gateway, '/inbox', BEN);
  await group(ben, 'Approve').getByLabel('No').check();
  // Somebody else answers at the very moment in which this window sends.
  await ben.evaluate(`
    const real = fetch;
    window.fetch = async (url, init) => {
      if (!String(url).endsWith('/answer')) return real(url, init);
      window.fetch = real;
      const headers = { ...init.headers, Authorization: 'Bearer ${ADA}' };
      await real(url, { ...init, headers, body: JSON.stringify({ action: 'accept', content: { ok: true } }) });
      return real(url, init);
    }`);
  await ben.getByRole('button', { name: 'Send answer' }).click();
  await ben.getByText('Not sent: ada in a terminal was first.').first().waitFor();
  await stage.answersAre([{ content: { ok: true } }]);
});

test('W-6: a page whose gateway is killed says so, keeps the input, and continues after the restart', async () => {
  const port = portToReturnTo();
  const first = await startKillable(stage.office.url, port);
  await call(first, 'order');
  const page = await stage.signedIn(first.gateway);
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  await first.kill();
  await page.getByText('The gateway cannot be reached.').waitFor();
  await isAccessible(page, 'without a gateway');
  // What is asked for meanwhile is read when the gateway is back, and the banner alone says why it is not there yet.
  await go(page, '/timeline');
  await page.getByRole('heading', { level: 1, name: 'Timeline' }).waitFor();
  expect(await page.getByText('Is it running?').count()).toBe(0);
  const second = await startKillable(stage.office.url, port, first.folder);
  defer(() => second.kill());
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByText('The gateway cannot be reached.').waitFor({ state: 'hidden' });
  await page.locator('.bar-item').first().waitFor();
  expect(await page.getByText('Is it running?').count()).toBe(0);
  await go(page, '/inbox');
  // The cookie is still good, the question is still open, and the form is as it was.
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada Lovelace');
  await page.getByRole('button', { name: 'Edit as JSON' }).click();
  const whole = '{"name": "Ada", "email": "a@b", "count": 1, "gift": true, "size": "m", "extras": ["bow"]}';
  await page.getByLabel('Content as JSON').fill(whole);
  await page.getByRole('button', { name: 'Send answer' }).click();
  await stage.answersAre([{ content: { name: 'Ada' } }]);
  // What happens now arrives by the stream that was resumed.
  await call(second, 'approve', { what: 'the rest' });
  await page.getByText('Approve the rest?').first().waitFor();
}, 40_000);

test('W-6: windows in the background release their connections for other windows', async () => {
  const scene = await stage.scene();
  const { context, page } = await stage.window();
  const open = async (window: Page): Promise<void> => {
    await window.goto(`${scene.gateway.console.url}#key=${scene.gateway.console.key}`);
    await window.getByText('Live', { exact: true }).waitFor();
  };
  const become = async (window: Page, state: 'hidden' | 'visible'): Promise<void> =>
    window.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);
  // A browser has six connections to a host.
  await open(page);
  await become(page, 'hidden');
  for (let count = 0; count < 5; count += 1) {
    const other = await context.newPage();
    await open(other);
    await become(other, 'hidden');
  }
  await open(await context.newPage());
  await call(scene, 'approve');
  await become(page, 'visible');
  await page.getByText('Approve it?').first().waitFor();
});

test('W-7: data of a server never becomes markup on any page', async () => {
  const scene = await stage.scene();
  await call(scene, EVIL_NAME);
  const page = await stage.signedIn(scene.gateway);
  await page.getByRole('article').getByText(EVIL, { exact: true }).first().waitFor();
  const safe = async (where: string): Promise<void> => {
    expect(await page.evaluate('window.pwned ?? null'), where).toBeNull();
    expect(await page.locator('main script, main svg[onload], main img[src="x"]').count(), where).toBe(0);
    expect(await page.locator('a[href^="javascript"]').count(), where).toBe(0);
  };
  await safe('the question');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Show the outcome of constructor').first().click();
  await page.getByText('Error from the tool').waitFor();
  await page.getByText('This image cannot be shown').waitFor();
  await safe('the result');
  await go(page, '/s/office');
  await page.getByRole('button', { name: 'Connect and list tools' }).click();
  await page.getByRole('button', { name: /^constructor/ }).click();
  await page.getByRole('button', { name: 'Run' }).waitFor();
  await safe('the server');
  for (const route of [
    '/work',
    '/timeline',
    '/timeline?as=table',
    '/sessions',
    `/work?text=${encodeURIComponent(EVIL)}`,
  ]) {
    await go(page, route);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await safe(route);
  }
  expect(stage.troubles).toEqual([]);
});

test('W-3, W-5: a tool can be tried with a form from its schema, and its result is shown', async () => {
  const scene = await stage.scene();
  const page = await stage.signedIn(scene.gateway, '/s/office');
  await page.getByRole('button', { name: 'Connect and list tools' }).click();
  await page.getByRole('button', { name: /^show/ }).click();
  await page.getByLabel('options').fill('{"deep": ');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Not valid JSON').waitFor();
  await page.getByLabel('title').fill('sales');
  await page.getByLabel('options').fill('{"deep": true}');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Chart sales {"deep":true}').waitFor();
  await page.waitForFunction("document.querySelector('.inline-call img')?.naturalWidth === 160");
  await page.getByText('This image cannot be shown').waitFor();
  expect(await page.getByRole('region', { name: 'Structured content' }).textContent()).toContain('"sold"');
  expect(await page.getByRole('link', { name: `${stage.office.page}/welcome` }).count()).toBe(1);
  expect(await page.getByText('javascript:alert(1)').isVisible()).toBe(true);
  expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
  // A schema that no form can express begins as JSON.
  await page.getByRole('button', { name: /^pick/ }).click();
  await page.getByLabel('Content as JSON').fill('{"a": 12345678901234567890}');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Picked {"a":12345678901234567').waitFor();
});

test('W-5: a question of a tried tool appears on the same page', async () => {
  const scene = await stage.scene();
  const page = await stage.signedIn(scene.gateway, '/s/office');
  await page.getByRole('button', { name: 'Connect and list tools' }).click();
  await page.getByRole('button', { name: /^approve/ }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await group(page, 'Approve').getByLabel('Yes').check();
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('"action":"accept"').waitFor();
  expect(page.url()).toContain('#/s/office?tool=approve');
});

test('W-3: a call can be followed live and cancelled', async () => {
  const scene = await stage.scene();
  await call(scene, 'approve');
  const page = await stage.signedIn(scene.gateway, '/work');
  await page.getByRole('link', { name: /approve/ }).click();
  await page.getByText('Waiting for an answer').waitFor();
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('button', { name: 'Cancel the call' }).click();
  await page.getByRole('article').getByText('Cancelled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Failed', exact: true }).click();
  await page.getByText('No matching calls').waitFor();
});

test('W-8: the console can be used with the keyboard alone', async () => {
  const scene = await stage.scene();
  for (const what of ['one', 'two', 'three']) await call(scene, 'approve', { what });
  const page = await stage.signedIn(scene.gateway);
  await page.getByRole('article').getByText('Approve one?').waitFor();
  await page.keyboard.press('j');
  await page.getByRole('article').getByText('Approve two?').waitFor();
  // The focus stays on the row while the list changes around it.
  expect(await page.evaluate('document.activeElement.textContent')).toContain('Approve two?');
  await call(scene, 'approve', { what: 'four' });
  await page.getByText('Approve four?').waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toContain('Approve two?');
  await page.keyboard.press('k');
  await page.getByRole('article').getByText('Approve one?').waitFor();
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.type')).toBe('radio');
  await page.keyboard.press('Space');
  await page.keyboard.press('Control+Enter');
  await stage.answersAre([{ content: { ok: true } }]);
  await page.getByRole('article').getByText('Approve two?').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await isAccessible(page, 'the shortcuts');
  await page.keyboard.press('Escape');
  for (const [keys, title] of [
    ['gw', 'Work'],
    ['gt', 'Timeline'],
    ['gs', 'Servers'],
    ['ge', 'Sessions'],
    ['gi', 'Inbox'],
  ]) {
    await page.keyboard.type(keys ?? '');
    await page.getByRole('heading', { level: 1, name: title ?? '' }).waitFor();
  }
  // The link that skips the navigation is the first stop.
  await page.reload();
  await page.getByRole('article').waitFor();
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
});

test('W-7: the next person sees no data and no input of the person before', async () => {
  const scene = await stage.scene({ auth: { ...OPERATORS.auth, operators: [] } }, ADA);
  await call(scene, 'order');
  const page = await stage.signedIn(scene.gateway, '/inbox', ADA);
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  // The same person goes on where the session ended.
  await signInAgain(page, ADA, '/inbox');
  await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada Lovelace');
  await signInAgain(page, BEN, '/inbox');
  await page.getByText('No open questions').waitFor();
  await signInAgain(page, ADA, '/inbox');
  await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
});

test('W-7, A-Q: a link with a token signs in neither a visitor nor another person', async () => {
  const scene = await stage.scene({ auth: { ...OPERATORS.auth, operators: [] } }, ADA);
  const link = `${scene.gateway.console.url}#key=${ADA}&to=/oauth/start/x1`;
  const { page: visitor } = await stage.window();
  await visitor.goto(link);
  await visitor.getByText('enter your own token').waitFor();
  expect(visitor.url()).not.toContain(ADA);
  const ben = await stage.signedIn(scene.gateway, '/inbox', BEN);
  await ben.goto(`${scene.gateway.console.url}#key=${ADA}&to=/servers`);
  await ben.getByRole('heading', { level: 1, name: 'Servers' }).waitFor();
  await ben.getByText('ben', { exact: true }).waitFor();
  expect(ben.url()).not.toContain(ADA);
});

test('W-7: a page whose sign-out fails says so and stays live', async () => {
  const scene = await stage.scene();
  const page = await stage.signedIn(scene.gateway);
  await page.evaluate(`
    const real = fetch;
    window.fetch = async (url, init) => (String(url).endsWith('/sign-out') ? Promise.reject(new Error()) : real(url, init));`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are still signed in').first().waitFor();
  await call(scene, 'approve');
  await page.getByText('Approve it?').first().waitFor();
});

test('W-7: without a key there is only the sign-in page, and the key is removed from the URL at once', async () => {
  const { gateway } = await stage.scene();
  const { page } = await stage.window();
  await page.goto(`${gateway.console.url}#/work`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Paste a token or a launch key first.').waitFor();
  await page.getByLabel('Token or launch key').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('Unknown key').waitFor();
  await isAccessible(page, 'sign-in');
  await page.getByLabel('Token or launch key').fill(`${gateway.console.url}#key=${gateway.console.key}`);
  await page.keyboard.press('Enter');
  // Where the person wanted to go.
  await page.getByRole('heading', { level: 1, name: 'Work' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await page.goto(`${gateway.console.url}#key=${gateway.console.key}`);
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  expect(page.url()).not.toContain(gateway.console.key);
  expect(await page.evaluate('document.cookie')).toBe('');
});

test.each([
  { where: 'wide', colorScheme: 'light', viewport: WIDE, rules: {} },
  // Only colours differ, and they are what takes axe-core long.
  { where: 'dark', colorScheme: 'dark', viewport: WIDE, rules: { runOnly: ['color-contrast'] } },
  {
    where: 'narrow',
    colorScheme: 'light',
    viewport: NARROW,
    rules: { rules: { 'color-contrast': { enabled: false } } },
  },
])(
  'W-8: axe-core finds no violations on any page ($where)',
  async ({ colorScheme, viewport, rules }) => {
    const scene = await stage.scene({ audit: true });
    const page = await stage.signedIn(scene.gateway, '/inbox', undefined, { colorScheme, viewport });
    const look = async (route: string, shown: string): Promise<void> => {
      await go(page, route);
      await page.locator(shown).first().waitFor();
      await isAccessible(page, route, rules);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), route).toBe(true);
    };
    for (const route of ['/inbox', '/inbox?status=ended', '/work', '/timeline']) await look(route, '.empty');
    await call(scene, 'show', { title: 'x' });
    for (const tool of ['order', 'think', 'visit']) await call(scene, tool);
    await go(page, '/s/office?tool=show');
    await page.getByRole('button', { name: 'Connect and list tools' }).click();
    await look('/s/office?tool=show', '.try');
    await look('/inbox', '.row');
    await look('/work', '.row');
    await look('/timeline', '.bar-item');
    await look('/timeline?as=table', 'tbody tr');
    await look('/sessions', 'tbody tr');
    await look('/audit', 'tbody tr');
    await look('/audit?text=nothing-like-it', '.empty');
    await go(page, '/work');
    await page.getByRole('link', { name: /show/ }).first().click();
    await page.getByText('Structured content').waitFor();
    await isAccessible(page, 'a call', rules);
    for (const message of ['What may it be?', 'What is in the picture?', 'Please sign in.']) {
      await go(page, '/inbox');
      await page.getByRole('list', { name: 'Open questions' }).getByText(message).click();
      await page.getByRole('article').getByText(message).first().waitFor();
      await isAccessible(page, message, rules);
    }
  },
  60_000,
);

test('G-5: the audit page lists lines, follows them live, and filters them', async () => {
  const scene = await stage.scene({ audit: true });
  const page = await stage.signedIn(scene.gateway);
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  await page.keyboard.type('ga');
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
  const row = (name: RegExp): Locator => page.getByRole('row', { name }).first();
  await row(/sign-in accepted/).waitFor();
  await call(scene, 'show', { title: 'x' });
  await row(/call ended.*office show.*sha256:.*completed/).waitFor();
  await call(scene, 'approve', { what: 'it' });
  await row(/question asked.*office approve/).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('APPROVE');
  await row(/office show/).waitFor({ state: 'hidden' });
  await row(/question asked.*office approve/).waitFor();
  await page.getByLabel('Kind').selectOption({ label: 'Servers' });
  await page.getByText('No matching lines').waitFor();
  await page.getByLabel('Kind').selectOption({ label: 'Questions' });
  // A line leads to what the history has of it.
  await row(/question asked/)
    .getByRole('link', { name: 'office approve' })
    .click();
  await page.getByRole('article').getByText('Approve it?').waitFor();
  expect(stage.troubles).toEqual([]);
});

test('G-5: without an audit record there is no audit page', async () => {
  const scene = await stage.scene();
  const page = await stage.signedIn(scene.gateway, '/audit');
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
});

test('W-9: the screenshots for the documentation can be taken from a real gateway', async () => {
  const pictures = await takePictures(stage);
  expect(pictures.map(({ name }) => name)).toEqual(['inbox', 'work', 'timeline', 'servers', 'phone']);
  // Something is on them, and they are small enough for a README.
  for (const { name, bytes } of pictures) {
    expect(bytes, name).toBeGreaterThan(10_000);
    expect(bytes, name).toBeLessThan(150_000);
  }
  expect(stage.troubles).toEqual([]);
}, 60_000);
