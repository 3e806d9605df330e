import type { CallRequest } from '../../core/call/request.ts';
import { GatewayError, OwnedElsewhere } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { TokenFacts } from '../../core/ports/identity.ts';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import type { Session } from '../../core/session/session.ts';
import type { CoreSettings } from '../../core/settings.ts';
import { beginWithinLimits } from '../carrier.ts';
import { passOn, type Reply } from '../commit-gate.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from '../../lib/rpc-error.ts';
import { metaOf, WEBHOOK_META } from '../../lib/meta.ts';
import { traceContextIn } from '../../lib/trace-context.ts';
import { isObject, quotable } from '../../lib/values.ts';
import type { Exchange } from '../exchange.ts';
import { runAnywhere } from './elsewhere.ts';
import { loadedTools, loadTools, type HubTools } from './load-tools.ts';
import { defaultTimeoutMs, makeCall } from './make-call.ts';
import { noSuchTool } from './mistakes.ts';
import { buildReply, errorReply } from './reply.ts';
import { DIAGRAMS_URI, diagramsResource, readDiagrams } from './resources/diagrams.ts';
import type { Asking, HubCaller, ToolContext, ToolReply } from './tool.ts';
import { whileWaiting } from '../waiting.ts';
import { withFix } from './with-fix.ts';

/** The fixed set of tools, behind every listener and in both eras. */
export class Hub {
  readonly #gateway: Gateway;
  #list: Record<string, unknown>[] | undefined;
  #helpers: Record<string, unknown>[] | undefined;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  get settings(): CoreSettings {
    return this.#gateway.settings;
  }

  handle(method: string, params: Record<string, unknown>, caller: HubCaller): Promise<Reply> | Reply {
    caller.session.presence.touch();
    if (method !== 'tools/call') return this.#look(method, params);
    const tools = loadedTools();
    return tools ? this.#call(tools, params, caller) : loadTools().then((each) => this.#call(each, params, caller));
  }

  /** The helper tools as `tools/list` shows them. */
  async helperTools(): Promise<Record<string, unknown>[]> {
    const { HELPER_TOOLS, describeTool } = await loadTools();
    this.#helpers ??= HELPER_TOOLS.map((each) => describeTool(each, this.settings));
    return this.#helpers;
  }

  async #listed(): Promise<Reply> {
    const { HUB_TOOLS, describeTool } = await loadTools();
    this.#list ??= HUB_TOOLS.map((each) => describeTool(each, this.settings));
    return passOn({ tools: this.#list });
  }

  #look(method: string, params: Record<string, unknown>): Promise<Reply> | Reply {
    switch (method) {
      case 'tools/list':
        return this.#listed();
      case 'resources/list':
        return passOn({ resources: [diagramsResource] });
      case 'resources/templates/list':
        return passOn({ resourceTemplates: [] });
      case 'resources/read':
        if (params['uri'] === DIAGRAMS_URI) return passOn(readDiagrams());
        throw new RpcError(INVALID_PARAMS, `resource '${quotable(params['uri'])}' not found; known: ${DIAGRAMS_URI}`, {
          uri: params['uri'],
        });
      default:
        throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    }
  }

  #call({ TOOLS_BY_NAME, checked }: HubTools, params: Record<string, unknown>, caller: HubCaller): Promise<Reply> {
    const { name, arguments: given = {} } = params;
    const found = typeof name === 'string' ? TOOLS_BY_NAME.get(name) : undefined;
    if (found === undefined) throw new RpcError(INVALID_PARAMS, noSuchTool(quotable(name), [...TOOLS_BY_NAME.keys()]));
    const trace = traceContextIn(params);
    const webhook = metaOf(params)[WEBHOOK_META];
    const by = trace === undefined && webhook === undefined ? caller : { ...caller, trace, webhook };
    return this.#replyTo(by, found.name, (context) => {
      const run = (): Promise<ToolReply> => found.run(checked(found, given), context);
      return this.#run(found.name, given, context, run, found.showsServers);
    });
  }

  /** Makes a call like `execute_tool`, for a client that called the tool directly. */
  execute(request: Omit<CallRequest, 'timeoutMs'>, caller: HubCaller): Promise<Reply> {
    const timeoutMs = defaultTimeoutMs(this.settings);
    return this.#replyTo(caller, request.tool, (context) =>
      this.#run(request.tool, request, context, () => makeCall(context, { timeoutMs, ...request }), true),
    );
  }

  #replyTo(caller: HubCaller, what: string, reply: (context: ToolContext) => Promise<Reply>): Promise<Reply> {
    const asking = this.#asking(caller);
    const gateway = this.#gateway;
    const { session, exchange } = caller;
    return whileWaiting({ clock: session.clock, exchange }, `${what} is running`, (onProgress) =>
      reply({ gateway, onProgress, ...caller, asking }),
    );
  }

  /** With `questions.via` = tools, a client is never asked natively. */
  #asking({ asking }: HubCaller): Asking {
    return this.#gateway.settings.questions.via === 'tools' ? { ...asking, capabilities: {} } : asking;
  }

  async #run(
    tool: string,
    given: unknown,
    context: ToolContext,
    work: () => Promise<ToolReply>,
    showsServers = false,
  ): Promise<Reply> {
    const { session } = context;
    let reply: ToolReply;
    let counted = false;
    try {
      if (!context.isCounted) {
        beginWithinLimits(session, given);
        counted = true;
      }
      reply = await work();
    } catch (error) {
      reply =
        error instanceof OwnedElsewhere
          ? await runAnywhere(context, { tool, args: given }, work, error).catch((failure: unknown) =>
              this.#failed(tool, given, context, failure),
            )
          : this.#failed(tool, given, context, error);
    } finally {
      if (counted) session.presence.endRequest();
    }
    return buildReply(context, reply, showsServers ? serversShown(reply, given) : undefined);
  }

  #failed(tool: string, given: unknown, { session }: Pick<ToolContext, 'session'>, error: unknown): ToolReply {
    if (!(error instanceof GatewayError)) this.#gateway.log.debug('tool_failed', { tool, error: String(error) });
    return errorReply(withFix(error, serverIn(given, session)));
  }

  /** Runs a tool for the client of another gateway, in a session of this gateway. */
  async runIn(
    session: Session,
    { tool, args, facts }: { tool: string; args: unknown; facts?: TokenFacts | undefined },
    exchange: Exchange,
  ): Promise<unknown> {
    const { HELPER_TOOLS, checked } = await loadTools();
    const found = HELPER_TOOLS.find(({ name }) => name === tool);
    if (found === undefined) throw new RpcError(INVALID_PARAMS, noSuchTool(tool, []));
    const asking: Asking = { by: 'round', capabilities: {}, answers: {} };
    const gateway = this.#gateway;
    const context = { session, exchange, asking, facts, mayRunCommands: false, gateway, onProgress: () => {} };
    const leave = session.access?.join(facts);
    try {
      return (await found.run(checked(found, args), context)).result;
    } catch (error) {
      if (error instanceof OwnedElsewhere) throw error;
      return this.#failed(tool, args, context, error).result;
    } finally {
      leave?.();
    }
  }
}

/** A successful reply shows that the server is connected. */
function serversShown({ result }: ToolReply, given: unknown): (server: string) => boolean {
  const { server, name } = isObject(given) ? given : {};
  const only = server ?? name;
  return (each) => result['isError'] !== true && (only === undefined || each === only);
}

/** The server that a tool was called for. */
function serverIn(given: unknown, { servers }: Session): ServerConfig | undefined {
  if (!isObject(given)) return undefined;
  const { server } = given;
  return configIn(given) ?? (typeof server === 'string' ? servers.get(server)?.config : undefined);
}

/** The arguments of `add_server` contain the server config. */
function configIn({ url, command, headers }: Record<string, unknown>): ServerConfig | undefined {
  if (typeof url === 'string') return { url, ...(isObject(headers) && { headers: headers as Record<string, string> }) };
  return typeof command === 'string' ? { command } : undefined;
}
