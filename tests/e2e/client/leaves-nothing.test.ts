import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { ServerConfig } from '../../../src/client/index.ts';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { isAlive } from '../../support/alive.ts';
import { bundleProgram } from '../../support/bundle-program.ts';
import { ROOT } from '../../support/imports.ts';
import { defer, owned } from '../../support/owned.ts';
import { tasksV1Stdio, tasksV2Stdio, v1Stdio, v2Stdio } from '../../support/servers.ts';
import { clientOf, soon } from './clients.ts';

const LEAVER = join(ROOT, 'node_modules/.cache/meanwhile-tests/leaver.cjs');

beforeAll(async () => {
  const nowhere = JSON.stringify({ url: 'http://127.0.0.1:9/mcp' });
  const warmUp = { args: ['fails to connect', nowhere], request: { method: 'tools/list' } };
  await bundleProgram(join(ROOT, 'tests/e2e/client/leaver.ts'), LEAVER, warmUp);
});

/** What was printed, once the program has ended by itself. */
async function run(deed: string, server: ServerConfig): Promise<string> {
  const args = [LEAVER, deed, JSON.stringify(server)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const [code] = (await exited) as [number | null];
  expect(code, said).toBe(0);
  return said;
}

/** What was left has ended, too, for whoever waits for it. */
function saidBy(deed: string): string {
  return deed.startsWith('leaves') ? 'disconnected\nended: lost\n' : 'disconnected\n';
}

/** Longer than a test may take: whoever waits until it is time to ask again waits too long. */
const RARELY = { pollMs: 600_000, notifies: false };

type Start = () => Promise<{ url: string; close(): Promise<void> }>;

const startModern: Start = () => startV2Http({ era: 'modern' });
const startRarelyV1: Start = () => startTasksV1Http(RARELY);
const startRarelyV2: Start = () => startTasksV2Http(RARELY);

const SOCKETS: { deed: string; server: string; start: Start }[] = [
  { deed: 'calls', server: 'v1', start: startV1Http },
  { deed: 'calls', server: 'v2', start: startModern },
  { deed: 'leaves a call', server: 'v1', start: startV1Http },
  { deed: 'leaves a call', server: 'v2', start: startModern },
  { deed: 'leaves a task', server: '2025-11-25 tasks', start: startRarelyV1 },
  { deed: 'leaves a task', server: '2026-07-28 tasks', start: startRarelyV2 },
  { deed: 'leaves a question', server: 'v1', start: startV1Http },
  { deed: 'leaves a question', server: 'v2', start: startModern },
  { deed: 'leaves a question', server: '2025-11-25 tasks', start: startTasksV1Http },
  { deed: 'leaves a question', server: '2026-07-28 tasks', start: startTasksV2Http },
];

test.each(SOCKETS)('C-1: a program that $deed and disconnects ends ($server, HTTP)', async ({ deed, start }) => {
  const { url } = owned(await start());
  expect(await run(deed, { url })).toBe(saidBy(deed));
});

const ENV = { TEST_POLL_MS: String(RARELY.pollMs), TEST_NO_STATUS: '1' };

const PROGRAMS = [
  { deed: 'calls', server: 'v1', config: v1Stdio() },
  { deed: 'leaves a call', server: 'v2', config: v2Stdio({ TEST_MODERN_ONLY: '1' }) },
  { deed: 'leaves a task', server: '2025-11-25 tasks', config: tasksV1Stdio(ENV) },
  { deed: 'leaves a question', server: '2026-07-28 tasks', config: tasksV2Stdio() },
  { deed: 'fails to connect', server: 'v1', config: v1Stdio({ TEST_EXIT_AT_START: '1' }) },
  { deed: 'fails to connect', server: 'no', config: { command: 'no-such-program-anywhere' } },
];

test.each(PROGRAMS)('C-1: a program that $deed and disconnects ends ($server, stdio)', async ({ deed, config }) => {
  expect(await run(deed, config)).toBe(saidBy(deed));
});

test.each([v1Stdio, tasksV1Stdio, tasksV2Stdio])(
  'C-1: the process of the server ends with disconnect',
  async (config) => {
    const { client } = clientOf(config());
    const { result } = await client.callTool('pid');
    const pid = Number(result?.content[0]?.['text']);
    expect(isAlive(pid)).toBe(true);
    await client.disconnect();
    await soon(() => isAlive(pid)).toBe(false);
    // A second time changes nothing.
    await client.disconnect();
  },
);
