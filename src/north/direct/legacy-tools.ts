import type { Session } from '../../core/session/session.ts';
import { isObject } from '../../lib/values.ts';
import type { Params } from './legacy-request.ts';
import { TASKS_SINCE } from './shown-server.ts';

function withTaskSupport(tool: Params): Params {
  const { execution } = tool;
  return { ...tool, execution: { ...(isObject(execution) && execution), taskSupport: 'optional' } };
}

/** For clients of a version without tasks: some SDKs refuse to call tools that must run as a task. */
function withoutTaskSupport(tool: Params): Params {
  const { execution, ...rest } = tool;
  if (!isObject(execution)) return tool;
  const { taskSupport: _taskSupport, ...others } = execution;
  return { ...rest, ...(Object.keys(others).length > 0 && { execution: others }) };
}

/** Whether the SDK wraps a schema for clients of this era in an object with the field `result`. */
function isWrapped(outputSchema: unknown): boolean {
  return isObject(outputSchema) && outputSchema['type'] !== 'object';
}

/** The server's tools as a client with a session sees them, and their results to match. */
export class LegacyTools {
  readonly #session: Session;
  /** Tools whose results are wrapped in an object, as their schema says. */
  readonly #wrapped = new Set<unknown>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Through the gateway, every tool can be called with or without a task. */
  listed(result: Params): Params {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    for (const tool of tools) if (isObject(tool) && isWrapped(tool['outputSchema'])) this.#wrapped.add(tool['name']);
    const knowsTasks = (this.#session.client?.protocolVersion ?? TASKS_SINCE) >= TASKS_SINCE;
    const asKnown = knowsTasks ? withTaskSupport : withoutTaskSupport;
    return { ...result, tools: tools.map((tool: unknown) => (isObject(tool) ? asKnown(tool) : tool)) };
  }

  /** In this era structured results are objects: other values are wrapped as in the tool's schema. */
  asListed(tool: string, result: Params): Params {
    const { structuredContent } = result;
    if (structuredContent === undefined) return result;
    if (isObject(structuredContent) && !this.#wrapped.has(tool)) return result;
    return { ...result, structuredContent: { result: structuredContent } };
  }
}
