import { setTimeout as delay } from 'node:timers/promises';
import type { CallRequest } from '../../core/call/request.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';

/** A client that closes a connection and at once comes back on another may be heard again before it is heard to leave. */
const LEAVING_MS = 50;
/** Nobody gives up sooner than this; calls that are the same and made at once are meant so. */
const PATIENCE_MS = 1000;

/** The run of the same call that its client did not wait for, if there is one; whoever gets it has it alone. */
export async function leftBehind(
  { tasks, calls }: Session,
  request: Pick<CallRequest, 'server' | 'tool' | 'args'>,
): Promise<Task | undefined> {
  const orphan = tasks.takeOrphan(request);
  if (orphan !== undefined || !calls.isWaitedFor(request, PATIENCE_MS)) return orphan;
  await delay(LEAVING_MS);
  return tasks.takeOrphan(request);
}
