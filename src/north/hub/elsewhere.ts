/**
 * What a client of the hub sees in sessions of its principal that other gateways have. The store knows where they are; the
 * gateway that has a session answers for it.
 */

import { GatewayError, OwnedElsewhere } from '../../core/errors.ts';
import type { Interaction, InteractionKind } from '../../core/interaction/interaction.ts';
import { NeighbourUnreachable, type LeftThere } from '../../core/cluster/neighbours.ts';
import type { Task } from '../../core/task/task.ts';
import { messageOf } from '../../lib/log.ts';
import { sleep } from '../../lib/timers.ts';
import { own, type ToolContext, type ToolReply, type ToolResult } from './tool.ts';
import { questionsIn, tasksIn, type Visible } from './visible.ts';

/** How often it is tried again to reach the gateway that has a session, or to take the session over. */
const RETRY_MS = 250;

/** What a client of the hub sees, wherever it is. */
export interface Everything {
  tasks: Task[];
  questions: (kind: InteractionKind, server?: string) => Interaction[];
}

export async function everythingIn(visible: Visible): Promise<Everything> {
  const others = await leftElsewhere(visible);
  const is = (kind: InteractionKind, server?: string) => (question: Interaction) =>
    question.kind === kind && (server === undefined || question.server === server);
  return {
    tasks: [...tasksIn(visible), ...others.flatMap(({ tasks }) => tasks)],
    questions: (kind, server) => [
      ...questionsIn(visible, kind, server),
      ...others.flatMap(({ questions }) => questions.filter(is(kind, server))),
    ],
  };
}

async function leftElsewhere({ gateway, session }: Visible): Promise<LeftThere[]> {
  const { neighbourhood } = gateway;
  if (neighbourhood === undefined || session.view.kind !== 'hub') return [];
  await gateway.wakeLeft(session.principal);
  return (await neighbourhood.askAll(session.principal, { ask: 'left' })) as LeftThere[];
}

/** Runs a tool that concerns a session of another gateway there, or here once that gateway is gone. */
export async function runAnywhere(
  { gateway, session, exchange }: ToolContext,
  work: { tool: string; args: unknown },
  here: () => Promise<ToolReply>,
): Promise<ToolReply> {
  const { clock } = gateway;
  const deadline = clock.now() + (gateway.store.cluster?.leaseMs ?? 0) + gateway.settings.cluster.drainMs;
  const signal = exchange.lostSignal();
  for (;;) {
    try {
      return await here();
    } catch (error) {
      if (!(error instanceof OwnedElsewhere)) throw error;
      try {
        const there = await gateway.neighbourhood?.run(error, session.principal, work, signal);
        if (there === undefined) throw new NeighbourUnreachable('no gateway can be reached');
        return own(there as ToolResult);
      } catch (failure) {
        if (!(failure instanceof NeighbourUnreachable)) throw lost(failure);
        if (clock.now() >= deadline || signal.aborted) throw lost(failure);
      }
    }
    await sleep(RETRY_MS, clock);
  }
}

function lost(failure: unknown): GatewayError {
  const message = `the gateway that has the session does not answer (${messageOf(failure)}); look at its state and try again`;
  return new GatewayError('TOOL_ERR_STORE', message);
}
