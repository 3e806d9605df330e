/**
 * A reply or notification is sent only after the state that it reports is stored. Each endpoint returns its replies as a
 * `Reply`, which names the sessions whose state it reports; other messages wait with `whenStored`.
 */
import { GatewayError } from '../core/errors.ts';
import type { Session } from '../core/session/session.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/log.ts';
import { sleep } from '../lib/timers.ts';
import { RpcError } from '../lib/rpc-error.ts';

type Result = Record<string, unknown>;

/** State of a session. */
type Stored = Pick<Session, 'settled'>;

export interface Reply {
  result: Result;
  /** The sessions whose state it reports. */
  reports: readonly Stored[];
  /** The result if that state cannot be stored; by default the reply is an error. */
  otherwise?: (error: GatewayError) => Result;
}

/** An error reply that reports stored state: how a task ended. */
export class ReportedError extends RpcError {}

/** A reply from a server, which reports no state of the gateway. It is sent even if the store cannot be written. */
export function passOn(result: Result): Reply {
  return { result, reports: [] };
}

export function report(session: Stored, result: Result): Reply {
  return { result, reports: [session] };
}

/** The result of a request in this session, once it may be sent. Avoids awaits: the fast path of a reply that reports nothing. */
export function replyWhenStored(session: Stored, work: () => Promise<Reply> | Reply): Promise<Result> {
  try {
    const reply = work();
    if (reply instanceof Promise) return reply.then(sendable, (error: unknown) => failWhenStored(session, error));
    return Promise.resolve(sendable(reply));
  } catch (error) {
    return failWhenStored(session, error);
  }
}

function sendable(reply: Reply): Promise<Result> | Result {
  return reply.reports.length === 0 ? reply.result : storedResult(reply);
}

async function storedResult({ result, reports, otherwise }: Reply): Promise<Result> {
  try {
    await whenStored(reports);
    return result;
  } catch (error) {
    if (otherwise === undefined || !(error instanceof GatewayError)) throw error;
    return otherwise(error);
  }
}

async function failWhenStored(session: Stored, error: unknown): Promise<never> {
  if (error instanceof ReportedError) await whenStored([session]);
  throw error;
}

/** Resolves when all state of these sessions is stored. */
export async function whenStored(sessions: readonly Stored[]): Promise<void> {
  try {
    await Promise.all(sessions.map(async (session) => session.settled()));
  } catch (error) {
    throw new GatewayError('TOOL_ERR_STORE', `the gateway could not write to its store: ${messageOf(error)}`);
  }
}

/** How often to check whether a failed store has recovered. */
const RECOVERY_MS = 500;

/** The same for messages that must be delivered: waits for a failing store until the signal is aborted. */
export async function onceStored(session: Stored & { clock: Clock }, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await whenStored([session]);
      return;
    } catch {
      // Unwritten changes are kept and written when the store is back.
      await sleep(RECOVERY_MS, session.clock);
    }
  }
}

/** Sends a notification about the session. It is dropped if the store fails, which the log reports. */
export function notifyWhenStored(session: Stored, notify: () => void): void {
  whenStored([session]).then(notify, () => {});
}
