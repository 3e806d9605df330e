import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';
import { isObject } from '../../lib/values.ts';
import { needsHubTools } from '../../core/groups.ts';
import { madeOf } from '../kept-results.ts';
import type { Params } from '../message.ts';
import type { LegacyViewParts } from './legacy-request.ts';
import type { Shown } from './shown.ts';
import { TASKS_SINCE } from './shown-server.ts';
import { needsWrapping, wrapped } from './wrapped-schema.ts';

function withTaskSupport(tool: Params): Params {
  const { execution } = tool;
  return { ...tool, execution: { ...(isObject(execution) && execution), taskSupport: 'optional' } };
}

/** For clients without tasks: some SDKs refuse to call tools that require a task. */
function withoutTaskSupport(tool: Params): Params {
  const { execution, ...rest } = tool;
  if (!isObject(execution)) return tool;
  const { taskSupport: _taskSupport, ...others } = execution;
  return { ...rest, ...(Object.keys(others).length > 0 && { execution: others }) };
}

/** The tool with an output schema that clients of this era support. */
function withObjectResults(tool: Params): Params {
  const { outputSchema } = tool;
  return needsWrapping(outputSchema) ? { ...tool, outputSchema: wrapped(outputSchema) } : tool;
}

/** The tools as a legacy client sees them, and matching results. */
export class LegacyTools {
  readonly #session: Session;
  readonly #shown: Shown;
  readonly #helpers: LegacyViewParts['helpers'];
  /** Tools whose results are wrapped in an object, as their schema says. */
  readonly #wrapped = new Set<unknown>();

  constructor({ session, shown, helpers }: Pick<LegacyViewParts, 'session' | 'shown' | 'helpers'>) {
    this.#session = session;
    this.#shown = shown;
    this.#helpers = helpers;
  }

  /** Whether slow calls of the client become tasks that it follows with the helper tools. */
  get promotes(): boolean {
    return this.#helpers !== undefined && needsHubTools(this.#session.client?.capabilities ?? {});
  }

  /** Adapts the result of `tools/list`; others stay unchanged. Through the gateway, every tool can be called with or without a task. */
  async listed(method: string, given: Params): Promise<Params> {
    if (method !== 'tools/list') return given;
    const helpers = await this.#helpers?.tools();
    return madeOf(given, this, () => this.#listed(given, helpers ?? []));
  }

  #listed(given: Params, helpers: readonly Params[]): Params {
    const result = this.#helpers?.addTo(given, helpers, this) ?? given;
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    for (const tool of tools)
      if (isObject(tool) && needsWrapping(tool['outputSchema'])) this.#wrapped.add(tool['name']);
    const knowsTasks = (this.#session.client?.protocolVersion ?? TASKS_SINCE) >= TASKS_SINCE;
    const asKnown = knowsTasks ? withTaskSupport : withoutTaskSupport;
    return {
      ...result,
      tools: tools.map((tool: unknown) => (isObject(tool) ? withObjectResults(asKnown(tool)) : tool)),
    };
  }

  /** In this era structured results are objects: other values are wrapped as in the tool's schema. */
  asListed({ server, tool }: Pick<Task, 'server' | 'tool'>, given: Params): Params {
    const result = this.#shown.resultFrom(server, given);
    const { structuredContent } = result;
    if (structuredContent === undefined) return result;
    if (isObject(structuredContent) && !this.#wrapped.has(this.#shown.toolName(server, tool))) return result;
    return { ...result, structuredContent: { result: structuredContent } };
  }
}
