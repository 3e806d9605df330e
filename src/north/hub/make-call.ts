import type { CallRequest } from '../../core/call/request.ts';
import type { CoreSettings } from '../../core/settings.ts';
import { execute } from './execute.ts';
import { executeInRounds } from './execute-mrtr.ts';
import type { ToolContext, ToolReply } from './tool.ts';

/** Makes a call for a client of the hub, which may become a task. */
export function makeCall(context: ToolContext, request: CallRequest): Promise<ToolReply> {
  const { asking } = context;
  return asking.by === 'round' ? executeInRounds(context, asking, request) : execute(context, asking, request);
}

export function defaultTimeoutMs({ calls, limits }: CoreSettings): number {
  return Math.min(calls.timeoutMs, limits.waitMs);
}
