/** The page with very much to show, and after it has missed very much. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { httpGateway } from '../support/gateway.ts';
import { hubOverHttp } from '../support/hub.ts';
import { JumpingClock } from '../support/jumping-clock.ts';
import { owned } from '../support/owned.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { call, enter, go, group, signInAgain, Stage } from './scene.ts';
import { many, openQuestion, runningTask, write } from './seed.ts';
import type { Page } from './browser.ts';

const ADA = 'a-token-of-ada-12345';
const BEN = 'a-token-of-ben-12345';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
}, 180_000);

afterAll(() => stage.close());

beforeEach(() => {
  stage.office.answers.length = 0;
  stage.troubles.length = 0;
});

/** How many rows the page has. */
const rows = async (page: Page): Promise<number> => page.locator('a.row').count();

/** How often the page has asked for such an address. */
const asked = async (page: Page, part: string): Promise<number> =>
  page.evaluate(`performance.getEntriesByType('resource').filter(({ name }) => name.includes('${part}')).length`);

test('W-2: with 10,000 open questions the page loads a part, counts all, and finds each', async () => {
  const { gateway } = await stage.scene();
  await write(gateway, many(10_000, openQuestion));
  const page = await stage.signedIn(gateway);
  await page.getByRole('button', { name: 'Open 10,000' }).waitFor();
  await expect.poll(() => page.title()).toBe('(10000) Inbox – Meanwhile');
  expect(await page.locator('nav .count').first().textContent()).toContain('999+');
  // The oldest first, and no more than a person can look through.
  await page.getByRole('article').getByText('Approve number 0?').waitFor();
  expect([await rows(page), await asked(page, '/questions?')]).toEqual([1000, 5]);
  await page.getByRole('button', { name: 'Show more questions' }).click();
  await expect.poll(() => rows(page)).toBe(1200);
  // A change renders only its own row.
  await page.evaluate(`
    window.changed = 0;
    new MutationObserver((changes) => (window.changed += changes.length)).observe(document.querySelector('ul.list'), {
      childList: true, subtree: true, attributes: true });`);
  await write(gateway, [openQuestion(3, { status: 'declined', endedAt: Date.now() })]);
  await page.getByRole('button', { name: 'Open 9,999' }).waitFor();
  expect(await page.evaluate<number>('window.changed')).toBeLessThan(10);
  // Beyond what the page has read, the gateway searches.
  await page.getByLabel('Filter by text, server or tool').fill('number 9876');
  await page.getByText('Approve number 9876?').first().click();
  await page.getByRole('article').getByText('Approve number 9876?').waitFor();
  expect(await rows(page)).toBe(1);
  await page.getByRole('button', { name: 'Open 9,999' }).waitFor();
  expect(stage.troubles).toEqual([]);
}, 60_000);

test('W-2: the inbox can be filtered and counts open questions', async () => {
  const scene = await stage.scene();
  for (const what of ['the invoice', 'the flight']) await call(scene, 'approve', { what });
  await write(
    scene.gateway,
    many(5, (index) => openQuestion(index, { server: 'archive', status: 'accepted', endedAt: Date.now() })),
  );
  await write(scene.gateway, [openQuestion(7, { server: 'archive', tool: 'purge' })]);
  const page = await stage.signedIn(scene.gateway);
  const open = page.getByRole('list', { name: 'Open questions' }).getByRole('link');
  await page.getByRole('button', { name: 'Open 3' }).waitFor();
  await expect.poll(() => open.count()).toBe(3);
  await page.getByRole('button', { name: 'Ended' }).click();
  const ended = page.getByRole('list', { name: 'Ended questions' }).getByRole('link');
  await expect.poll(() => ended.count()).toBe(5);
  await page.getByRole('button', { name: 'Open 3' }).click();
  for (const what of ['three', 'four', 'five']) await call(scene, 'approve', { what });
  await page.getByRole('button', { name: 'Open 6' }).waitFor();
  const filter = page.getByLabel('Filter by text, server or tool');
  for (const [text, found] of [
    ['FLIGHT', 1],
    ['archive', 1],
    ['purge', 1],
    ['office', 5],
    ['nothing like it', 0],
    ['', 6],
  ] as const) {
    await filter.fill(text);
    await expect.poll(() => open.count(), { message: text }).toBe(found);
  }
  // The filter does not change how many are open, and an answer does.
  await filter.fill('flight');
  await page.getByText('Approve the flight?').first().click();
  await group(page, 'Approve').getByLabel('Yes').check();
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByRole('button', { name: 'Open 5' }).waitFor();
  await stage.answersAre([{ content: { ok: true } }]);
});

test('W-2: the inbox opens the oldest question, even if a newer one arrives before the list', async () => {
  const scene = await stage.scene();
  await call(scene, 'approve', { what: 'one' });
  const { page } = await stage.window();
  await page.addInitScript({
    content: `
      const real = fetch;
      window.held = new Promise((resolve) => (window.release = resolve));
      window.fetch = async (url, init) => {
        const response = await real(url, init);
        if (String(url).includes('/questions?')) await window.held;
        return response;
      }`,
  });
  const { url, key } = scene.gateway.console;
  await page.goto(`${url}#key=${key}&to=/inbox`);
  await page.getByText('Live', { exact: true }).waitFor();
  await call(scene, 'approve', { what: 'two' });
  await page.getByRole('list', { name: 'Open questions' }).getByText('Approve two?').waitFor();
  await page.evaluate('window.release()');
  await page.getByRole('article').getByText('Approve one?').waitFor();
});

test('W-3: 1,000 running tasks are listed, updated and filtered', async () => {
  const { gateway } = await stage.scene();
  await write(gateway, many(1000, runningTask));
  const page = await stage.signedIn(gateway, '/work');
  await page.getByRole('button', { name: 'Running 1000' }).waitFor();
  expect(await page.locator('nav .count').first().textContent()).toContain('999+');
  await expect.poll(() => rows(page)).toBe(1000);
  const first = page.locator('a.row').first();
  await expect.poll(() => first.textContent()).toContain('part 0');
  await write(gateway, [runningTask(0, { progress: { progress: 50, total: 100, message: 'half of it' } })]);
  await expect.poll(() => first.textContent()).toContain('half of it');
  await write(gateway, [runningTask(1, { status: 'completed', endedAt: Date.now() })]);
  await page.getByRole('button', { name: 'Running 999' }).click();
  await expect.poll(() => rows(page)).toBe(999);
  await page.getByLabel('Filter by tool, server or client').fill('reindex');
  await expect.poll(() => rows(page)).toBe(334);
  await go(page, '/timeline');
  await expect.poll(() => page.locator('.bar-item').count()).toBe(1000);
  expect(stage.troubles).toEqual([]);
}, 60_000);

test('W-3, W-5: a result of 10 MB is offered as a download, and not shown on the page', async () => {
  const { gateway } = await stage.scene();
  const page = await stage.signedIn(gateway, '/s/office?tool=huge');
  await page.getByRole('button', { name: 'Connect and list tools' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('is too large to show here').waitFor();
  expect(await page.locator('.inline-call').textContent()).toContain('(10.0 MB)');
  const save = async (button: string | RegExp): Promise<string> => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ]);
    return readFile(await file.path(), 'utf8');
  };
  const { content } = JSON.parse(await save('Download the result')) as { content: { text: string }[] };
  expect(content[0]?.text).toHaveLength(10 * 1024 * 1024);
  expect(await page.evaluate<number>('document.body.textContent.length')).toBeLessThan(20_000);
}, 40_000);

test('W-3: a result of 10 MB in the history is shown in part', async () => {
  const settings = { history: { entryBytes: 12 * 1024 * 1024 } };
  const scene = await stage.scene(settings);
  await call(scene, 'huge');
  const page = await stage.signedIn(scene.gateway, '/work');
  await page.getByRole('link', { name: /huge/ }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download all (10.0 MB)' }).click(),
  ]);
  expect((await readFile(await file.path())).length).toBe(10 * 1024 * 1024);
  expect(await page.getByRole('button', { name: /^Show all/ }).count()).toBe(0);
  expect(await page.evaluate<number>('document.body.textContent.length')).toBeLessThan(40_000);
  // The list goes on.
  await call(scene, 'approve');
  await page.getByRole('link', { name: /approve/ }).waitFor();
}, 40_000);

test('W-4: the timeline shows the work, the waiting time and the end of a call', async () => {
  const clock = new JumpingClock();
  const patient = { tasks: { ttlMs: HOUR, maxTtlMs: HOUR, keepMs: HOUR }, questions: { timeoutMs: HOUR } };
  const gateway = await httpGateway({ office: { url: stage.office.url } }, patient, clock);
  const hub = await hubOverHttp(gateway.url);
  await call({ hub }, 'prepare');
  const page = await stage.signedIn(gateway, '/timeline');
  const bar = page.getByRole('link', { name: /^prepare/ });
  await bar.waitFor();
  expect(await bar.getAttribute('aria-label')).toMatch(/^prepare, waiting, /);
  clock.jump(7 * MINUTE);
  await page.clock.setSystemTime(clock.now());
  await expect
    .poll(() => bar.getAttribute('aria-label'))
    .toMatch(/^prepare, waiting, 7 m .* of it waiting for a person/);
  await bar.click();
  // The question is answered at the call itself, which tells how far it had come.
  await page.getByText('Waiting for an answer').waitFor();
  expect(await page.locator('.running-line').textContent()).toContain('25 %');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByRole('article').getByText('Prepared').waitFor();
  await page.getByText('waiting for a person').first().waitFor();
  clock.jump(3 * MINUTE);
  await page.clock.setSystemTime(clock.now());
  await go(page, '/timeline?minutes=15');
  await expect
    .poll(() => bar.getAttribute('aria-label'))
    .toMatch(/^prepare, completed, 7 m .* of it waiting for a person/);
  const [whole, wait] = await page.evaluate<[number, number]>(
    "['a.bar-item', 'a.bar-item .wait'].map((each) => document.querySelector(each).getBoundingClientRect().width)",
  );
  const [track] = await page.evaluate<[number]>("[document.querySelector('.track').getBoundingClientRect().width]");
  // Seven of fifteen minutes, nearly all of it hatched.
  expect(whole / track).toBeCloseTo(7 / 15, 1);
  expect(wait / whole).toBeGreaterThan(0.95);
  await page.getByRole('button', { name: 'Table' }).click();
  const row = await page.locator('tbody tr').first().textContent();
  expect(row).toMatch(/officeprepareCompleted7 m .*7 m /);
}, 40_000);

test('W-2: a question beyond the form begins as JSON, with the same validation', async () => {
  const scene = await stage.scene();
  await call(scene, 'wide');
  const page = await stage.signedIn(scene.gateway);
  const field = page.getByLabel(/^place/);
  await field.fill('{"town": "Ulm"}');
  await page.getByLabel('Nights').fill('0');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.getByText('Expected at least 1.').waitFor();
  await page.getByLabel('Nights').fill('2');
  await field.fill('{"city": "Ulm"}');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await stage.answersAre([{ content: { place: { city: 'Ulm' }, nights: 2 } }]);
});

test('W-6: a page that reconnects after the history has expired reads everything again', async () => {
  const scene = await stage.scene();
  const { gateway } = scene;
  const proxy = owned(await TcpProxy.start(Number(new URL(gateway.url).port)));
  await write(gateway, many(3, runningTask));
  await call(scene, 'approve', { what: 'the first' });
  const { url, key } = gateway.console;
  const page = await stage.signedIn({ console: { url: url.replace(/:\d+/, `:${proxy.port}`), key } });
  await page.getByRole('article').getByText('Approve the first?').waitFor();
  await page.getByRole('button', { name: 'Open 1' }).waitFor();
  proxy.turnsAway = true;
  proxy.cut();
  await page.getByText('The gateway cannot be reached.').waitFor();
  // A day passes: what was open has ended, something else is open, and all that has ended is forgotten.
  const { history } = gateway.gateway.store;
  await write(
    gateway,
    many(3, (index) => runningTask(index, { status: 'completed', endedAt: 1 })),
  );
  await call(scene, 'approve', { what: 'the second' });
  const [question] = await history.read({ kinds: ['question'], order: 'oldest', limit: 1 });
  await gateway.gateway.recorder?.flush();
  const session = gateway.gateway.sessions.find(({ id }) => id === scene.hub.sessionId());
  await session?.interactions.answer(String(question?.id), 'elicitation', { action: 'decline' }, 'tools', 'local');
  await gateway.gateway.recorder?.flush();
  await expect
    .poll(async () => (await history.read({ kinds: ['call'], active: false, order: 'oldest', limit: 9 })).length)
    .toBeGreaterThan(3);
  await history.trim(Date.now() + HOUR, Infinity);
  proxy.turnsAway = false;
  // The page may try again by itself before the button is clicked.
  const live = page.getByText('Live', { exact: true });
  await Promise.any([page.getByRole('button', { name: 'Try now' }).click(), live.waitFor()]);
  await live.waitFor();
  await page.getByText('Approve the second?').first().waitFor();
  await page.getByRole('button', { name: 'Open 1' }).waitFor();
  expect(await page.getByRole('list', { name: 'Open questions' }).getByText('the first').count()).toBe(0);
  await go(page, '/work');
  await page.getByRole('button', { name: 'Running 1' }).waitFor();
}, 40_000);

test('W-7: a page whose sign-in has expired says so, and continues after the next sign-in', async () => {
  const clock = new JumpingClock();
  const gateway = await httpGateway({ office: { url: stage.office.url } }, {}, clock);
  const page = await stage.signedIn(gateway, '/work');
  await page.getByText('Live', { exact: true }).waitFor();
  clock.jump(25 * HOUR);
  await page.getByText('You are no longer signed in').waitFor();
  await page.getByLabel('Token or launch key').fill(gateway.console.key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Work' }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
});

const PEOPLE = { auth: { tokens: { ada: ADA, ben: BEN }, operators: [] } };

test('W-7: a list requested before another person signs in is not shown to that person', async () => {
  const scene = await stage.scene(PEOPLE, ADA);
  await call(scene, 'approve', { what: 'what only Ada sees' });
  const page = await stage.signedIn(scene.gateway, '/inbox', ADA);
  await page.getByText('what only Ada sees').first().waitFor();
  await page.evaluate(`
    const real = fetch;
    window.held = new Promise((resolve) => (window.release = resolve));
    window.fetch = async (url, init) => {
      const response = await real(url, init);
      if (!String(url).includes('/calls') || window.isBen) return response;
      await window.held;
      return response;
    }`);
  await go(page, '/work');
  await page.evaluate('window.isBen = true');
  await signInAgain(page, BEN, '/work');
  await page.getByText('No calls yet').waitFor();
  await page.evaluate('window.release()');
  await go(page, '/timeline');
  await page.getByText('No calls').waitFor();
  await go(page, '/work');
  await page.getByText('No calls yet').waitFor();
  expect(await rows(page)).toBe(0);
});

test('W-7: a window switches to the person who signs in in another window', async () => {
  const scene = await stage.scene(PEOPLE, ADA);
  await call(scene, 'approve', { what: 'what only Ada sees' });
  const { context, page } = await stage.window();
  await page.goto(`${scene.gateway.console.url}#/inbox`);
  await enter(page, ADA);
  await page.getByText('what only Ada sees').first().waitFor();
  const other = await context.newPage();
  await other.goto(`${scene.gateway.console.url}#/inbox`);
  await other.getByText('what only Ada sees').first().waitFor();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await enter(other, BEN);
  await other.getByText('No open questions').waitFor();
  // The next request of the first window shows whose it is now.
  await go(page, '/servers');
  await page.getByText('ben', { exact: true }).waitFor();
  await go(page, '/inbox');
  await page.getByText('No open questions').waitFor();
});

test('W-8: a person without servers starts the demo, answers its question, and removes it', async () => {
  const demo = await stage.withDemo();
  const page = await stage.signedIn(demo);
  await page.getByRole('button', { name: 'Start the demo' }).click();
  await page.getByRole('article').getByText("Book a table for 2 at Luigi's").first().waitFor();
  await group(page, 'Book it').getByLabel('Yes').check();
  await page.getByRole('button', { name: 'Send answer' }).click();
  await go(page, '/work');
  await page.getByRole('link', { name: /book_table.*Completed/ }).waitFor();
  await page.getByRole('link', { name: /slow_report.*Running/ }).waitFor();
  await go(page, '/s/demo');
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('button', { name: 'Remove demo' }).click();
  await page.getByText('No servers yet').waitFor();
  await page.getByRole('button', { name: 'Start the demo' }).waitFor();
}, 40_000);
