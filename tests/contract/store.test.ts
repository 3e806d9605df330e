import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { MemoryDatabase } from '../support/memory-database.ts';
import { accountsContract } from './accounts.contract.ts';
import { auditContract } from './audit.contract.ts';
import { historyContract } from './history.contract.ts';
import { outboxContract } from './outbox.contract.ts';
import { storeContract } from './store.contract.ts';

const log = createLog('silent');
let folder: string;
let opened = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-store-'));
});
afterAll(() => rm(folder, { recursive: true }));

storeContract('sqlite in memory', async () => ({ store: await openSqliteStore({ path: ':memory:', log }) }));
storeContract('sqlite in a file', async () => ({
  store: await openSqliteStore({ path: join(folder, `${++opened}.db`), log }),
}));
storeContract(
  'shared by gateways of one process',
  async () => {
    const database = new MemoryDatabase();
    return {
      store: database.open({ shared: true }),
      openAnother: async () => database.open({ shared: true }),
      expireClaims: () => database.expireClaims(),
    };
  },
  { shared: true },
);

historyContract('sqlite in memory', async () => ({ store: await openSqliteStore({ path: ':memory:', log }) }));
historyContract('sqlite in a file', async () => {
  const path = join(folder, `${++opened}.db`);
  const open = async () => openSqliteStore({ path, log });
  return { store: await open(), openAnother: open };
});
historyContract('shared by gateways of one process', async () => {
  const database = new MemoryDatabase();
  const open = async () => database.open({ shared: true });
  return { store: await open(), openAnother: open, shared: true, firstGone: () => database.expireClaims() };
});

auditContract('sqlite in memory', async () => ({ store: await openSqliteStore({ path: ':memory:', log }) }));
auditContract('sqlite in a file', async () => ({
  store: await openSqliteStore({ path: join(folder, `${++opened}.db`), log }),
}));
auditContract('shared by gateways of one process', async () => {
  const database = new MemoryDatabase();
  const open = async () => database.open({ shared: true });
  return { store: await open(), openAnother: open };
});

outboxContract('sqlite in memory', async () => ({ store: await openSqliteStore({ path: ':memory:', log }) }));
outboxContract('sqlite in a file', async () => {
  const path = join(folder, `${++opened}.db`);
  const open = async () => openSqliteStore({ path, log, shared: true });
  // Its lock shows that the gateway before is gone.
  return { store: await open(), openAnother: open, firstGone: async () => {} };
});
outboxContract('shared by gateways of one process', async () => {
  const database = new MemoryDatabase();
  const open = async () => database.open({ shared: true });
  return { store: await open(), openAnother: open, firstGone: async () => database.expireClaims() };
});

accountsContract('sqlite in memory', async () => ({ store: await openSqliteStore({ path: ':memory:', log }) }));
accountsContract('sqlite in a file', async () => {
  const path = join(folder, `${++opened}.db`);
  const open = async () => openSqliteStore({ path, log, shared: true });
  return { store: await open(), openAnother: open };
});
accountsContract('shared by gateways of one process', async () => {
  const database = new MemoryDatabase();
  const open = async () => database.open({ shared: true });
  return { store: await open(), openAnother: open, shared: true };
});
