import type { Session } from '../../core/session/session.ts';
import { isObject } from '../../lib/values.ts';
import type { Params } from './legacy-request.ts';
import { TASKS_SINCE } from './shown-server.ts';

function withTaskSupport(tool: Params): Params {
  const { execution } = tool;
  return { ...tool, execution: { ...(isObject(execution) && execution), taskSupport: 'optional' } };
}

/** For clients of a version without tasks; some SDKs would still refuse to call what is said to be only a task. */
function withoutTaskSupport(tool: Params): Params {
  const { execution, ...rest } = tool;
  if (!isObject(execution)) return tool;
  const { taskSupport: _taskSupport, ...others } = execution;
  return { ...rest, ...(Object.keys(others).length > 0 && { execution: others }) };
}

/** Whether the SDK shows a schema to clients of this era as that of an object with the value as its `result`. */
function isWrapped(outputSchema: unknown): boolean {
  return isObject(outputSchema) && outputSchema['type'] !== 'object';
}

/** The server's tools as a client with a session sees them, and their results to match. */
export class LegacyTools {
  readonly #session: Session;
  /** Tools whose results the client was told to expect within an object. */
  readonly #wrapped = new Set<unknown>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Whatever the server says of its tools: through us every one can be called with or without a task. */
  listed(result: Params): Params {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    for (const tool of tools) if (isObject(tool) && isWrapped(tool['outputSchema'])) this.#wrapped.add(tool['name']);
    const knowsTasks = (this.#session.client?.protocolVersion ?? TASKS_SINCE) >= TASKS_SINCE;
    const asKnown = knowsTasks ? withTaskSupport : withoutTaskSupport;
    return { ...result, tools: tools.map((tool: unknown) => (isObject(tool) ? asKnown(tool) : tool)) };
  }

  /** In this era results are objects: what is none is shown as its tool's schema was. */
  asListed(tool: string, result: Params): Params {
    const { structuredContent } = result;
    if (structuredContent === undefined) return result;
    if (isObject(structuredContent) && !this.#wrapped.has(tool)) return result;
    return { ...result, structuredContent: { result: structuredContent } };
  }
}
