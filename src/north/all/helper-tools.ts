import type { CallRequest } from '../../core/call/request.ts';
import type { Session } from '../../core/session/session.ts';
import { isObject } from '../../lib/values.ts';
import type { Reply } from '../commit-gate.ts';
import type { Exchange } from '../exchange.ts';
import { isHelperTool } from '../hub/about.ts';
import type { Hub } from '../hub/hub.ts';
import type { Asking, HubCaller } from '../hub/tool.ts';
import type { Params } from '../message.ts';

interface Request {
  exchange: Exchange;
  asking: Asking;
}

/** Clients reject results that do not match the output schema, such as the reply that a call has become a task. */
function withoutOutputSchema({ outputSchema: _outputSchema, ...tool }: Params): Params {
  return tool;
}

/**
 * The hub's tools for tasks and questions beside the servers' own tools, for clients without native support: their calls become
 * tasks as at the hub.
 */
export class HelperTools {
  readonly #hub: Hub;
  readonly #session: Session;
  readonly #mayRunCommands: boolean;

  constructor(hub: Hub, session: Session, mayRunCommands: boolean) {
    this.#hub = hub;
    this.#session = session;
    this.#mayRunCommands = mayRunCommands;
  }

  /** What `addTo` adds. */
  async tools(): Promise<Params[]> {
    return this.#hub.helperTools();
  }

  /** The list of the servers' tools with these added, on its last page. `promotes`: calls of the client become tasks. */
  addTo(result: Params, own: readonly Params[], { promotes }: { promotes: boolean }): Params {
    const { tools, nextCursor } = result;
    const listed = (Array.isArray(tools) ? tools : []).filter(isObject).filter(({ name }) => !isHelperTool(name));
    const others = promotes ? listed.map(withoutOutputSchema) : listed;
    return { ...result, tools: nextCursor === undefined ? [...others, ...own] : others };
  }

  has(name: unknown): boolean {
    return isHelperTool(name);
  }

  call(params: Params, request: Request): Promise<Reply> | Reply {
    return this.#hub.handle('tools/call', params, this.#caller(request));
  }

  execute(call: Omit<CallRequest, 'timeoutMs'>, request: Request): Promise<Reply> {
    return this.#hub.execute(call, this.#caller(request));
  }

  #caller({ exchange, asking }: Request): HubCaller {
    const mayRunCommands = this.#mayRunCommands;
    return { session: this.#session, exchange, asking, mayRunCommands, isCounted: true };
  }
}
