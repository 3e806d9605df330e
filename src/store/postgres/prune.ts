/** Removes expired records and idle sessions that no gateway owns. */

import { createLog } from '../../lib/log.ts';
import type { PruneReport, PruneRules } from '../summary.ts';
import { bytesOf } from './inspect.ts';
import { openToLook } from './look.ts';
import { openPostgresStore } from './store.ts';

/**
 * Works beside running gateways like another gateway: it leaves their claims alone, and claims what it removes
 * first, so that no gateway takes it meanwhile.
 */
export async function pruneStore(
  url: string,
  { now, idleBefore, endedBefore, leaseMs }: PruneRules,
): Promise<PruneReport> {
  const look = await openToLook(url);
  try {
    const bytesBefore = await bytesOf(look);
    const store = await openPostgresStore({ url, log: createLog('silent'), leaseMs });
    const removed = { sessions: 0, tasks: 0, questions: 0, events: 0 };
    try {
      removed.tasks += await store.cleanUp.dropOverdue(now);
      if (endedBefore !== undefined) removed.tasks += await store.cleanUp.dropEnded(endedBefore);
      await store.cleanUp.dropFinished(idleBefore, async ({ session, task, question, event }) => {
        removed.sessions += session;
        removed.tasks += task;
        removed.questions += question;
        removed.events += event;
        await store.cluster.renew({});
      });
    } finally {
      await store.close();
    }
    return { database: look.name, removed, bytesBefore, bytesAfter: await bytesOf(look) };
  } finally {
    await look.close();
  }
}
