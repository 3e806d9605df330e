import { readFile, stat, truncate } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { begin, kill, killable } from './killable.ts';

test.each([0, 1, 50])(
  'P-4, P-2: a store truncated to %i bytes is put aside together with its write-ahead log',
  async (bytes) => {
    const server = owned(await startV1Http());
    const gateway = await killable({ one: { url: server.url } });
    const session = await rawSession(gateway.url);
    await begin(session, 'one', 'slow', { ms: 60_000 });
    await kill(gateway);
    const log = await readFile(`${gateway.store}-wal`);
    expect(log.length).toBeGreaterThan(0);
    await truncate(gateway.store, bytes);
    await gateway.start();

    const line = gateway.log.find((text) => text.includes('"store_damaged"'));
    expect(line, gateway.log.join('\n')).toBeDefined();
    const { data } = JSON.parse(line?.slice(line.indexOf('{')) ?? '{}') as { data: { keptAs: string } };
    expect((await stat(data.keptAs)).size).toBe(bytes);
    expect((await readFile(`${data.keptAs}-wal`)).equals(log)).toBe(true);
    const fresh = await rawSession(gateway.url);
    await begin(fresh, 'one', 'slow', { ms: 60_000 });
  },
);
