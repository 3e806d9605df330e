import type { CallRequest } from '../../core/call/request.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';
import { isoTime } from '../../lib/clock.ts';
import { withMeta } from '../../lib/meta.ts';
import { sleep } from '../../lib/timers.ts';
import type { Reply } from '../commit-gate.ts';

/** A reconnecting client may send a request before the close of its old connection is noticed. */
const LEAVING_MS = 50;
/** Clients wait at least this long before they give up; identical calls made closer together are meant to run separately. */
const PATIENCE_MS = 1000;

/**
 * The earlier run of an identical call that the same client program abandoned, if any. It is handed out once: the next
 * identical call runs anew.
 */
export function earlierRun(
  { settings }: Gateway,
  session: Session,
  call: Pick<CallRequest, 'server' | 'tool' | 'args' | 'program'>,
): Promise<Task | undefined> | Task | undefined {
  const { server, tool, args, program } = call;
  // Clients that do not name themselves may be different programs.
  if (program === undefined || !session.mayCall(server, tool)) return undefined;
  const { tasks, calls, clock } = session;
  const wanted = { server, tool, args, program, endedWithinMs: settings.direct.takeOverMs };
  const found = tasks.takeOver(wanted);
  if (found !== undefined || !calls.isWaitedFor(call, PATIENCE_MS)) return found;
  return sleep(LEAVING_MS, clock).then(() => tasks.takeOver(wanted));
}

/** Marks a reply as coming from an earlier run of the call. */
export function markTakenOver({ result, reports }: Reply, { id, createdAt }: Task): Reply {
  const mark = { taskId: id, startedAt: isoTime(createdAt) };
  return { result: withMeta(result, 'meanwhile/takenOver', mark), reports };
}
