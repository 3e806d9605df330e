/** Answers other gateways on the same store, for their hub clients. */

import type { Gateway } from '../../core/gateway.ts';
import { NeighbourUnreachable, type LeftThere, type NeighbourRequest } from '../../core/cluster/neighbours.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { whenStored } from '../commit-gate.ts';
import type { Exchange } from '../exchange.ts';
import type { Hub } from './hub.ts';
import { leftQuestions, nativeTasks } from './visible.ts';

/** Answers another gateway; `exchange` reports whether it received the answer. */
export async function answerNeighbour(
  { hub, gateway }: { hub: Hub | undefined; gateway: Gateway },
  principal: string,
  request: NeighbourRequest,
  exchange: Exchange,
): Promise<unknown> {
  switch (request.ask) {
    case 'left': {
      const left = leftHere(gateway, principal, request.tasks);
      // The other gateway may immediately look for it in the store.
      await whenStored([...gateway.nativeSessionsOf({ principal })]);
      return left;
    }
    case 'event':
      gateway.notifyHubSessions(principal, request.type, request.server, request.data);
      return {};
    case 'tool': {
      const session = await gateway.restore(request.session, principal);
      // The session of another hub client is private.
      if (hub === undefined || session === undefined || session.view.kind === 'hub') {
        throw new NeighbourUnreachable('no such session here');
      }
      const result = await hub.runIn(session, request, exchange);
      await whenStored([session]);
      return result;
    }
    // The console answers those.
    case 'console':
    default:
      throw new Error('a gateway of another version sent an unknown request');
  }
}

function leftHere(gateway: Gateway, principal: string, wanted: 'all' | 'open' | 'none'): LeftThere {
  const isWanted = (task: Task): boolean => wanted === 'all' || (wanted === 'open' && !hasEnded(task));
  const tasks = nativeTasks(gateway, { principal })
    .filter(isWanted)
    .map((task) => (task.status === 'completed' ? { ...task, result: {} } : task));
  const kinds = ['elicitation', 'sampling'] as const;
  return { tasks, questions: kinds.flatMap((kind) => leftQuestions(gateway, { principal }, kind)) };
}
