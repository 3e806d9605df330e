import { expect, test } from 'vitest';
import { callLine } from '../../../../tests/contract/audit.contract.ts';
import { MemoryAudit } from '../../../../tests/support/memory-audit.ts';
import type { StoredLine } from '../../../core/audit/line.ts';
import type { AuditQuery } from '../../../core/ports.ts';
import { auditRoutes } from './audit.ts';

/** Between its two reads, one more line is written. */
class BusyAudit extends MemoryAudit {
  #n = 3;

  override async read(query: AuditQuery): Promise<StoredLine[]> {
    const found = await super.read(query);
    if (query.limit === 1) await this.append([callLine((this.#n += 1))]);
    return found;
  }
}

test('G-5: a follower sees a line once that is written while it reads', async () => {
  const store = new BusyAudit();
  await store.append([callLine(1), callLine(2), callLine(3)]);
  const [{ run } = expect.fail('no route')] = auditRoutes;
  const gateway = { audit: { store, flush: async () => {} } };
  const person = { principal: 'ola', operator: true };
  const get = async (query: object): Promise<{ seen: number[]; seq: number }> => {
    const reply = await run({ gateway, person, query: { limit: 10, ...query } } as never);
    const { items, seq } = (reply as { body: { items: StoredLine[]; seq: number } }).body;
    return { seen: items.map(({ n }) => n), seq };
  };
  const first = await get({});
  expect(first).toEqual({ seen: [4, 3, 2, 1], seq: 4 });
  const second = await get({ after: first.seq });
  expect(second).toEqual({ seen: [5], seq: 5 });
  // Of several pages, the next begins where this one ends.
  expect(await get({ after: 1, limit: 2 })).toEqual({ seen: [2, 3], seq: 3 });
});
