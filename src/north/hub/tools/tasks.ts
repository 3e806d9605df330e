import * as z from 'zod';
import type { Session } from '../../../core/session/session.ts';
import { hasEnded, type Task } from '../../../core/task/task.ts';
import { noResult } from '../call-reply.ts';
import { everythingIn } from '../elsewhere.ts';
import { ownerOfTask, ownQuestions, questionsIn } from '../visible.ts';
import { fromServer, json, own, READS, tool, type ToolContext, type ToolReply } from '../tool.ts';
import { elicitationBrief, elicitationView, shownStatus, taskView, taskWithArgs } from '../views.ts';
import { shortText, waitMs } from './arguments.ts';
import { deliverTaskEnd } from '../../delivery.ts';

const GRACE_MS = 1000;

const taskId = shortText.describe('Id from execute_tool or list_tasks');

export const taskTools = [
  tool({
    name: 'list_tasks',
    description: 'List running tasks; with include_completed, also ended tasks.',
    input: () =>
      z.object({
        server: shortText.optional(),
        status: z.enum(['working', 'completed', 'failed', 'cancelled', 'expired']).optional(),
        include_completed: z.boolean().default(false),
      }),
    annotations: READS,
    run: async ({ server, status, include_completed }, context) => {
      const wanted = (task: Task): boolean =>
        (server === undefined || task.server === server) &&
        (status === undefined ? include_completed || !hasEnded(task) : shownStatus(task) === status);
      return json({
        tasks: (await everythingIn(context, include_completed || status !== undefined ? 'all' : 'open')).tasks
          .filter(wanted)
          .map(taskWithArgs),
      });
    },
  }),
  tool({
    name: 'get_task',
    description: 'Show a task and the pending elicitations of its server.',
    input: () => z.object({ task_id: taskId }),
    annotations: READS,
    run: async ({ task_id }, context) => {
      const owner = await ownerOfTask(context, task_id);
      return json(stateOf(context, owner, owner.tasks.get(task_id)));
    },
  }),
  tool({
    name: 'get_task_result',
    description:
      'Wait for a task to end and return its result. Returns its state if timeout_ms passes or the task needs your answer.',
    input: () => z.object({ task_id: taskId, timeout_ms: waitMs.optional().describe('Default: the remaining TTL') }),
    annotations: READS,
    run: async ({ task_id, timeout_ms }, context) => {
      const { exchange, gateway } = context;
      const owner = await ownerOfTask(context, task_id);
      const { tasks } = owner;
      const now = tasks.get(task_id);
      // A client that waits for the whole TTL gets the end of the task, not the state just before it.
      const left = (hasEnded(now) ? 0 : (now.remainingMs ?? (now.deadline ?? 0) - owner.clock.now())) + GRACE_MS;
      const wait = Math.min(timeout_ms ?? left, gateway.settings.limits.waitMs);
      const task = await tasks.whenEndedOrAsking(task_id, wait, exchange.lostSignal());
      if (hasEnded(task)) deliverTaskEnd({ session: owner, exchange }, task_id);
      return resultOf(context, owner, task);
    },
  }),
  tool({
    name: 'cancel_task',
    description: 'Cancel a task and its work on the server.',
    input: () => z.object({ task_id: taskId }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    run: async ({ task_id }, context) => {
      const { tasks, calls } = await ownerOfTask(context, task_id);
      const { status } = tasks.get(task_id);
      const cancelled = calls.cancel(task_id, 'cancelled by the client');
      const message = cancelled ? `task ${task_id} was cancelled` : `task ${task_id} had already ended: ${status}`;
      return json({ success: cancelled !== undefined, message });
    },
  }),
];

function stateOf(context: ToolContext, owner: Session, task: Task): Record<string, unknown> {
  return { task: taskWithArgs(task), pending_elicitations_for_server: elicitations(context, owner, task) };
}

/** Elicitations of another program are shown in full, because the rest of the reply does not contain them. */
function elicitations({ gateway, session }: ToolContext, owner: Session, { server }: Task): Record<string, unknown>[] {
  if (owner === session || owner.view.kind !== 'hub') {
    return questionsIn({ gateway, session }, 'elicitation', server).map(elicitationBrief);
  }
  return ownQuestions({ gateway, session: owner }, 'elicitation', server).map(elicitationView);
}

function resultOf(context: ToolContext, owner: Session, task: Task): ToolReply {
  switch (task.status) {
    case 'working':
    case 'input_required':
      return json(stateOf(context, owner, task));
    case 'completed':
      return own(fromServer(task.result));
    case 'failed':
    case 'cancelled':
    case 'expired':
      return noResult(task, `task ${task.id}`, { task: taskView(task) });
  }
}
