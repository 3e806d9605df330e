import { expect, test } from 'vitest';
import { callEntry } from '../../../tests/contract/history.contract.ts';
import { task } from '../../../tests/support/records.ts';
import { createLog } from '../../lib/log.ts';
import { openSqliteStore } from './store.ts';

const log = createLog('silent');
const MB = 1024 * 1024;

test('W-4: an oversized history leaves most of the file to tasks', async () => {
  const store = await openSqliteStore({ path: ':memory:', log, maxBytes: 4 * MB });
  try {
    const content = { arguments: { text: 'x'.repeat(20_000) } };
    for (let index = 0; index < 400; index += 1) {
      const entry = callEntry(`c${1000 + index}`, { status: 'completed', endedAt: index });
      await store.history.append([{ entry, content }]);
    }
    const left = await store.history.count({ kinds: ['call'] });
    expect(left).toBeGreaterThan(30);
    expect(left).toBeLessThan(60);
    const claimed = await store.claim('s');
    for (let index = 0; index < 8; index += 1) claimed?.put('task', task(`t${index}`, 's', 'x'.repeat(250_000)));
    await claimed?.settled();
  } finally {
    await store.close();
  }
});

test('W-4: in a full store the oldest entries are removed for new ones, and only an entry that cannot fit fails', async () => {
  const store = await openSqliteStore({ path: ':memory:', log, maxBytes: 4 * MB });
  try {
    const claimed = await store.claim('s');
    const entry = (id: string, endedAt: number, bytes: number) => ({
      entry: callEntry(id, { status: 'completed' as const, endedAt }),
      content: { arguments: { text: 'x'.repeat(bytes) } },
    });
    for (let index = 0; index < 20; index += 1) await store.history.append([entry(`old${index}`, index, 40_000)]);
    let full = false;
    for (let index = 0; !full; index += 1) {
      claimed?.put('event', {
        id: `e${index}`,
        sessionId: 's',
        type: 'server_log',
        server: 'one',
        createdAt: 0,
        data: { text: 'x'.repeat(50_000) },
      } as never);
      await claimed?.settled();
      full = ((await claimed?.load())?.events.length ?? 0) <= index;
    }
    await store.history.append([entry('new', 100, 200_000)]);
    expect(await store.history.find(['new', 'old0'])).toMatchObject([{ id: 'new' }]);
    await expect(store.history.append([entry('huge', 101, 3_000_000)])).rejects.toThrow('full');
    // The rest goes on.
    await store.history.append([entry('small', 102, 10)]);
    expect(await store.history.find(['small'])).toHaveLength(1);
  } finally {
    await store.close();
  }
});
