/**
 * What a hub client sees of its principal's sessions at other gateways. The store knows where they are; the
 * owner of a session answers for it.
 */

import { GatewayError, OwnedElsewhere } from '../../core/errors.ts';
import type { Interaction, InteractionKind } from '../../core/interaction/interaction.ts';
import { NeighbourUnreachable, type LeftThere } from '../../core/cluster/neighbours.ts';
import type { Task } from '../../core/task/task.ts';
import { messageOf } from '../../lib/log.ts';
import { sleep } from '../../lib/timers.ts';
import { own, type ToolContext, type ToolReply, type ToolResult } from './tool.ts';
import { mayKnow, questionsIn, tasksIn, type Visible } from './visible.ts';

/** The delay before retrying to reach the owner of a session, or to take the session over. */
const RETRY_MS = 250;

/** Everything that a hub client sees, at all gateways. */
export interface Everything {
  tasks: Task[];
  questions: (kind: InteractionKind, server?: string) => Interaction[];
}

export async function everythingIn(visible: Visible, tasks: 'all' | 'open' | 'none'): Promise<Everything> {
  const others = await leftElsewhere(visible, tasks);
  const { session } = visible;
  const is = (kind: InteractionKind, server?: string) => (question: Interaction) =>
    question.kind === kind && (server === undefined || question.server === server) && mayKnow(session, question);
  return {
    tasks: [
      ...tasksIn(visible),
      ...others.flatMap(({ tasks }) => tasks.filter((task) => session.mayCall(task.server, task.tool))),
    ],
    questions: (kind, server) => [
      ...questionsIn(visible, kind, server),
      ...others.flatMap(({ questions }) => questions.filter(is(kind, server))),
    ],
  };
}

async function leftElsewhere({ gateway, session }: Visible, tasks: 'all' | 'open' | 'none'): Promise<LeftThere[]> {
  const { neighbourhood, log } = gateway;
  if (neighbourhood === undefined || session.view.kind !== 'hub') return [];
  try {
    await gateway.restoreUnowned(session.principal);
    return (await neighbourhood.askAll(session.principal, { ask: 'left', tasks })) as LeftThere[];
  } catch (error) {
    // Local data can be shown even while the store is down.
    log.warn('others_not_asked', { error: messageOf(error) });
    return [];
  }
}

/** Runs a tool at the gateway that owns the session, or here once that gateway is dead. */
export async function runAnywhere(
  { gateway, session, exchange, facts }: ToolContext,
  work: { tool: string; args: unknown },
  here: () => Promise<ToolReply>,
  found: OwnedElsewhere,
): Promise<ToolReply> {
  const { clock } = gateway;
  const deadline = clock.now() + (gateway.store.cluster?.leaseMs ?? 0) + gateway.settings.cluster.drainMs;
  const signal = exchange.lostSignal();
  let elsewhere = found;
  for (;;) {
    try {
      const there = await gateway.neighbourhood?.run(elsewhere, session.principal, { ...work, facts }, signal);
      if (there === undefined) throw new NeighbourUnreachable('no gateway can be reached');
      return own(there as ToolResult);
    } catch (failure) {
      const mayTryAgain = failure instanceof NeighbourUnreachable && clock.now() < deadline && !signal.aborted;
      if (!mayTryAgain) throw lost(failure);
    }
    await sleep(RETRY_MS, clock);
    try {
      return await here();
    } catch (error) {
      if (!(error instanceof OwnedElsewhere)) throw error;
      elsewhere = error;
    }
  }
}

function lost(failure: unknown): GatewayError {
  const message = `the gateway that owns the session does not respond (${messageOf(failure)}); check its state and try again`;
  return new GatewayError('TOOL_ERR_STORE', message);
}
