import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { oddServer, textResult } from '../robust/odd-server.ts';
import { LightClient } from './light-client.ts';
import { storedIn } from '../../support/records.ts';

const CALLS = 5000;
const WARM_UP = 1000;
const AT_A_TIME = 20;
const MEGABYTE = 2 ** 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Returns the replies that were not the result as the server gave it, with nothing added. */
async function call(client: LightClient, count: number): Promise<unknown[]> {
  let left = count;
  const others: unknown[] = [];
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const text = `call ${left}`;
      const { raw } = await client.call('execute_tool', { server: 'one', tool: 'echo', args: { text } });
      if (!isDeepStrictEqual(raw, { content: [{ type: 'text', text }] })) others.push(raw);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return others;
}

test('H-4, P-3: thousands of fast calls leave no task, no write and no memory', { timeout: 120_000 }, async () => {
  // By hand: a server of an SDK would take most of the time.
  const server = await oddServer({
    'tools/call': ({ params, reply }) => reply(textResult((params['arguments'] as { text: string }).text)),
  });
  const store = join(await temporaryFolder(), 'store.db');
  // The history is written beside the calls, and limited by a rate.
  const settings = { store, history: { keepMs: 0 } };
  const { url, gateway, logs } = await httpGateway({ one: { url: server.url } }, settings);
  const client = await LightClient.open(url);
  // The event of the connection comes with the first reply.
  await client.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'first' } });
  await call(client, WARM_UP);
  await gateway.store.settled();
  const files = async () =>
    Promise.all(
      [store, `${store}-wal`].map(async (file) => {
        const { size, mtimeMs } = await stat(file);
        return { file, size, mtimeMs };
      }),
    );
  // What the test itself keeps does not count.
  logs.length = 0;
  server.seen.clear();
  const before = { files: await files(), heap: heapUsed() };

  expect(await call(client, CALLS)).toEqual([]);
  expect(server.seen.get('tools/call')).toBe(CALLS);
  logs.length = 0;
  await gateway.store.settled();
  expect(await files()).toEqual(before.files);
  expect(await storedIn(gateway, 'task')).toEqual([]);
  expect(await storedIn(gateway, 'event')).toEqual([]);
  const [session] = gateway.sessions;
  expect(session?.calls.size).toBe(0);
  expect(session?.tasks.list()).toEqual([]);
  // What the last replies held may take a moment to go.
  await vi.waitFor(() => expect((heapUsed() - before.heap) / MEGABYTE).toBeLessThan(1.5), { timeout: 5000 });
});
