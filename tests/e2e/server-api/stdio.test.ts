import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, expect, test } from 'vitest';
import { isAlive } from '../../support/alive.ts';
import { defer } from '../../support/owned.ts';
import { INITIALIZE } from '../../support/raw-http.ts';
import { soon } from '../flows/watch.ts';
import { CLIENTS, keysOf, type ClientKind, type Via } from '../direct/matrix/cells.ts';
import { questionsAreAnswered, twoQuestionsAreAnswered } from '../direct/matrix/checks.ts';
import { whoIs } from '../direct/matrix/answers.ts';
import { driversOf } from '../direct/matrix/drivers.ts';
import { bundleApp, stdioApp } from './killable.ts';

const VIA: Record<ClientKind, readonly Via[]> = {
  tools: [],
  asked: ['request'],
  tasks: ['task request'],
  rounds: ['round'],
  extension: ['round', 'task'],
};

const PLAYERS = keysOf(CLIENTS).flatMap((client) =>
  driversOf(client, 'stdio').map((driver) => ({ who: CLIENTS[client], via: VIA[client], ...driver })),
);

beforeAll(bundleApp);

test.each(PLAYERS)(
  'D-1: a client ($who) calls tools, and the program exits with it (stdio, $player)',
  async ({ open, via }) => {
    const client = await open(await stdioApp());
    const slow = await client.call('slow', { ms: 300, text: 'slow' });
    expect(slow).toMatchObject({ content: [{ type: 'text', text: 'slow' }], isError: false });
    if (via.length > 0) {
      const asking = { client, names: ['Ada', 'Ben'], answerer: client, via };
      await Promise.all([questionsAreAnswered(asking), twoQuestionsAreAnswered(asking)]);
    } else {
      const { isError, content } = await client.call('ask', { message: whoIs('Ada') });
      expect(isError).toBe(true);
      expect(JSON.stringify(content)).toContain('did not declare elicitation');
    }
    const pid = Number(client.pid());
    await client.close();
    await soon(() => isAlive(pid)).toBe(false);
  },
);

test('D-1: a program on stdio exits on SIGTERM', async () => {
  const { command, args } = await stdioApp();
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'close');
  defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const answered = once(child.stdout, 'data');
  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  expect(String((await answered)[0])).toContain('"shop"');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});
