/** Plays half an hour of work at a gateway in a few seconds, and takes pictures of the console. */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import { atConsole, type ConsolePerson } from '../support/console.ts';
import { httpGateway, PROGRAM, temporaryFolder } from '../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../support/hub.ts';
import { JumpingClock } from '../support/jumping-clock.ts';
import { go, group, NARROW, type Stage } from './scene.ts';
import type { Page } from './browser.ts';

export interface Picture {
  name: string;
  bytes: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** As little as shows what there is to see. */
const FLAT = { width: 1280, height: 640 };
/** `docs` to renew the pictures of the documentation; else they go where nobody keeps them. */
const FOLDER = process.env['MEANWHILE_PICTURES'];

/** Nothing runs out while the time jumps. */
const PATIENT = {
  tasks: { ttlMs: HOUR, maxTtlMs: HOUR, keepMs: HOUR },
  questions: { timeoutMs: HOUR },
};

export async function takePictures(stage: Stage): Promise<Picture[]> {
  const folder = FOLDER ?? (await temporaryFolder());
  await mkdir(folder, { recursive: true });
  const clock = new JumpingClock();
  const demo = { command: process.execPath, args: [PROGRAM, 'demo-server'] };
  const servers = { reports: demo, travel: demo, shop: { url: stage.office.url } };
  const gateway = await httpGateway(servers, PATIENT, clock);
  const code = await hubOverHttp(gateway.url, 'v1', {}, 'claude-code');
  const cursor = await hubOverHttp(gateway.url, 'v1', {}, 'cursor');
  const person = await atConsole(gateway);
  await play({ clock, code, cursor, person });

  const { page } = await stage.window({ viewport: FLAT });
  await page.clock.setSystemTime(clock.now());
  await page.goto(`${gateway.console.url}#key=${gateway.console.key}`);
  const pictures: Picture[] = [];
  const take = async (name: string): Promise<void> => {
    const path = join(folder, `console-${name}.png`);
    // What was just done is not shown.
    await page.locator('.note-item').first().waitFor({ state: 'hidden' });
    await page.screenshot({ path });
    pictures.push({ name, bytes: (await stat(path)).size });
  };

  await page.getByRole('article').getByText("Book a table for 4 at Luigi's").waitFor();
  await group(page, 'Book it').getByLabel('Yes').check();
  await page.getByLabel('A note for the restaurant').fill('By the window, please');
  await take('inbox');
  await go(page, '/work');
  await page
    .getByRole('link', { name: /slow_report.*Running/ })
    .first()
    .click();
  await page.getByRole('article').getByText('topic').first().waitFor();
  await take('work');
  await go(page, '/timeline');
  await page.locator('.wait').first().waitFor();
  await take('timeline');
  await tryTool(page);
  await take('servers');
  await page.setViewportSize(NARROW);
  await go(page, '/inbox');
  await page.getByRole('list', { name: 'Open questions' }).getByText('Book a table').first().click();
  await page.getByRole('article').waitFor();
  await take('phone');
  return pictures;
}

interface Players {
  clock: JumpingClock;
  code: HubClient;
  cursor: HubClient;
  person: ConsolePerson;
}

async function play({ clock, code, cursor, person }: Players): Promise<void> {
  const call = async (client: HubClient, server: string, tool: string, args: object): Promise<unknown> =>
    client.call('execute_tool', { server, tool, args, timeout_ms: 1 });
  let done = 0;
  const ended = async (more: number): Promise<unknown> => {
    done += more;
    return person.waitFor('/calls?status=ended', done);
  };
  const pass = (minutes: number): void => clock.jump(minutes * MINUTE);
  const table = { restaurant: 'Nonna', people: 2, time: 'tonight 19:30' };

  // Connected before the time jumps, which a connection that is being made would not survive.
  for (const client of [code, cursor]) {
    await client.call('execute_tool', { server: 'reports', tool: 'slow_report', args: { topic: 'sugar', seconds: 0 } });
    await client.call('execute_tool', { server: 'shop', tool: 'pick', args: { a: 1 } });
  }
  await ended(4);
  for (const topic of ['lemons', 'sugar', 'lemonade']) {
    await call(code, 'reports', 'slow_report', { topic, seconds: 1 });
    pass(4);
    await ended(1);
    await call(cursor, 'shop', 'pick', { topic });
    await ended(1);
    pass(3);
  }
  await call(code, 'travel', 'book_table', table);
  const { id } = await person.one('/questions');
  pass(7);
  await person.post(`/questions/${id}/answer`, { action: 'accept', content: { confirm: true } });
  await ended(1);
  pass(1);
  await call(cursor, 'reports', 'slow_report', { topic: 'coffee', seconds: 1 });
  await call(code, 'reports', 'slow_report', { topic: 'tea', seconds: 1 });
  pass(5);
  await ended(2);
  await call(cursor, 'shop', 'nothing', {});
  pass(3);
  await call(code, 'shop', 'pick', { b: 2 });
  await ended(2);
  pass(2);
  await call(code, 'travel', 'book_table', { restaurant: "Luigi's", people: 4, time: 'tomorrow 20:00' });
  await person.waitFor('/questions', 1);
  pass(3);
  await call(cursor, 'reports', 'summarize', { text: 'Clients give up on slow tools. A gateway keeps the call.' });
  await person.waitFor('/questions', 2);
  await call(cursor, 'shop', 'approve', { what: 'the release of 4.2.0 to production' });
  await person.waitFor('/questions', 3);
  pass(1);
  await call(code, 'reports', 'slow_report', { topic: 'the third quarter', seconds: 20 });
  // Until it says how far it is.
  await vi.waitFor(
    async () => {
      const [running] = await person.items('/calls?status=running');
      if (running?.['progress'] === undefined) throw new Error('no progress yet');
    },
    { timeout: 10_000, interval: 100 },
  );
}

async function tryTool(page: Page): Promise<void> {
  await go(page, '/s/reports');
  await page.getByRole('button', { name: 'Connect and list tools' }).click();
  await page.getByRole('button', { name: /^slow_report/ }).click();
  await page.getByLabel('topic').fill('lemonade');
  await page.getByLabel('seconds').fill('1');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('Report on lemonade').first().waitFor();
}
