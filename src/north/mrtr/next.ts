import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { hasEnded, type EndedTask, type Task } from '../../core/task/task.ts';
import { canBeAsked } from '../asking/asking.ts';
import { withTaskUpdates } from '../waiting.ts';
import type { Exchange } from '../exchange.ts';
import type { Progress } from '../../core/ports/connection.ts';
import type { InputKeys } from './input-keys.ts';

/** A request whose client gets questions instead of the reply, and repeats it with the answers. */
interface RoundRequest {
  session: Session;
  exchange: Exchange;
  onProgress: (progress: Progress) => void;
  keys: InputKeys;
  /** The kinds of questions that the client declared. */
  capabilities: Record<string, unknown>;
  /** When the client wants a reply at the latest. */
  deadline: number;
}

type Next<Reason> =
  | { kind: 'ended'; task: EndedTask }
  /** The client gets these questions, by the keys under which it answers them. */
  | { kind: 'asked'; questions: Map<string, Interaction> }
  /** The client left, or its session ended. */
  | { kind: 'gone' }
  | { kind: 'stopped'; because: Reason | 'timeout' };

/**
 * Waits until a call that has become a task ends or asks its client. `stop` says why the client gets a reply in other cases.
 */
export async function nextOf<Reason extends string>(
  request: RoundRequest,
  taskId: string,
  stop: (task: Task) => Reason | undefined,
): Promise<Next<Reason>> {
  const { session, exchange, deadline } = request;
  const signal = exchange.leavingSignal();
  const wanted = (task: Task): boolean => hasEnded(task) || asks(request, taskId) || stop(task) !== undefined;
  return withTaskUpdates(request, taskId, async () => {
    for (;;) {
      const timeoutMs = Math.max(0, deadline - session.clock.now());
      const task = await session.tasks.until(taskId, wanted, timeoutMs, signal);
      if (hasEnded(task)) return { kind: 'ended', task };
      if (!exchange.open || session.ended) return { kind: 'gone' };
      if (asks(request, taskId)) {
        const questions = await gather(request, taskId);
        if (questions.size > 0) return { kind: 'asked', questions };
      }
      // The question may have been answered elsewhere.
      const because = stop(session.tasks.get(taskId)) ?? (session.clock.now() >= deadline ? 'timeout' : undefined);
      if (because !== undefined && exchange.open) return { kind: 'stopped', because };
    }
  });
}

/** Whether the client can answer a question that the task waits for. */
function asks({ session, keys, capabilities }: RoundRequest, taskId: string): boolean {
  return (
    keys.of({ taskId }, capabilities).size > 0 ||
    session.interactions.unhostedOf(taskId).some((interaction) => canBeAsked(capabilities, interaction))
  );
}

async function gather(
  { session, keys, capabilities }: RoundRequest,
  taskId: string,
): Promise<Map<string, Interaction>> {
  for (const interaction of session.interactions.unhostedOf(taskId)) {
    if (canBeAsked(capabilities, interaction)) session.interactions.hostWith(interaction.id, taskId);
  }
  return keys.gathered({ taskId }, capabilities);
}
