import * as z from 'zod';
import type { CallRequest } from '../../../core/call/request.ts';
import { WEBHOOK_META } from '../../../lib/meta.ts';
import type { ListItem } from '../../../lib/pages.ts';
import { MAX_DELAY_MS } from '../../../lib/clock.ts';
import { compilePattern } from '../../../lib/pattern.ts';
import { isObject, quotable } from '../../../lib/values.ts';
import { defaultTimeoutMs, makeCall } from '../make-call.ts';
import { json, READS_SERVER, tool } from '../tool.ts';
import { MAX_NAME, serverName, shortText, waitMs } from './arguments.ts';
import { fromServers } from './from-servers.ts';

const BRIEF_CHARS = 120;

/** Name and first sentence of the description, enough to choose a tool. */
function briefTool({ name, description }: ListItem): ListItem {
  if (typeof description !== 'string') return { name };
  const start = description.trimStart().slice(0, BRIEF_CHARS);
  const sentence = /^.*?(?=\.\s|\.$|\n)/s.exec(start)?.[0];
  return { name, description: sentence ?? (start.length < BRIEF_CHARS ? start : `${start.slice(0, -1)}…`) };
}

/** The usual form of a call: names, arguments and possibly a timeout. */
function isUsualCall(given: unknown): boolean {
  if (!isObject(given)) return false;
  for (const key in given) {
    const value = given[key];
    switch (key) {
      case 'server':
      case 'tool':
        if (typeof value !== 'string' || value.length > MAX_NAME) return false;
        break;
      case 'args':
        if (!isObject(value)) return false;
        break;
      case 'timeout_ms':
        if (!(Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_DELAY_MS)) return false;
        break;
      default:
        return false;
    }
  }
  return given['server'] !== undefined && given['tool'] !== undefined;
}

export const executionTools = [
  tool({
    name: 'list_tools',
    description: 'List the tools of all servers or one, with schemas. Call them with execute_tool.',
    input: () =>
      z.object({
        server: serverName.optional(),
        pattern: z.string().max(256).optional().describe('Part of the tool name, or a glob with * and ?'),
        brief: z.boolean().default(false).describe('Only names and short descriptions'),
      }),
    annotations: READS_SERVER,
    showsServers: true,
    run: async ({ server, pattern, brief }, { session }) => {
      const matches = pattern === undefined ? () => true : compilePattern(pattern);
      const view = brief ? briefTool : undefined;
      return json(await fromServers(session, server, 'tools', (item) => matches(quotable(item['name'])), view));
    },
  }),
  tool({
    name: 'execute_tool',
    description:
      'Call a tool on a server. If it takes longer than timeout_ms or needs input, it continues as a task and you get the task id: answer pending_client_action if present, then use await_activity and get_task_result.',
    input: () =>
      z.object({
        server: serverName,
        tool: shortText.describe('Name from list_tools'),
        args: z.record(z.string(), z.unknown()).optional(),
        timeout_ms: waitMs.optional(),
        task_ttl_ms: waitMs.min(1).optional().describe('Time limit of the task'),
      }),
    areValid: isUsualCall,
    defaults: (settings) => ({ timeout_ms: defaultTimeoutMs(settings) }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    showsServers: true,
    run: ({ server, tool: name, args = {}, timeout_ms, task_ttl_ms }, context) => {
      const { settings } = context.gateway;
      const timeoutMs = Math.min(timeout_ms ?? defaultTimeoutMs(settings), settings.limits.waitMs);
      const request: CallRequest = { server, tool: name, args, timeoutMs };
      if (task_ttl_ms !== undefined) request.ttlMs = task_ttl_ms;
      const { trace, webhook } = context;
      if (webhook !== undefined) request.meta = { ...trace, [WEBHOOK_META]: webhook };
      else if (trace !== undefined) request.meta = trace;
      return makeCall(context, request);
    },
  }),
];
