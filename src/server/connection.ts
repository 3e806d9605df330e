import { messageOf } from '../lib/log.ts';
import { known } from '../core/errors.ts';
import type {
  CallOutcome,
  Connection,
  ConnectionSink,
  ConnectionStatus,
  OutgoingCall,
  OutgoingRequest,
  ServerInfo,
} from '../core/ports/connection.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from '../lib/rpc-error.ts';
import { capabilitiesIn, type Capabilities } from './client-question.ts';
import type { Definition, Tool } from './definition.ts';
import { followAppTask } from './app-task.ts';
import { readAppResumePoint, type AppResumePoint } from './resume-point.ts';
import { failed, runTool } from './run.ts';
import type { StoredTasks } from './task-controller.ts';
import type { ResumePoint } from '../core/task/task.ts';

const NEVER = new AbortController().signal;

/** The connection of one session to the server in this process. It cannot be lost. */
export class AppConnection implements Connection {
  readonly status: ConnectionStatus;
  readonly #definition: Definition;
  readonly #tasks: StoredTasks | undefined;
  readonly #sink: ConnectionSink;

  constructor(definition: Definition, tasks: StoredTasks | undefined, sink: ConnectionSink) {
    this.#definition = definition;
    this.#tasks = tasks;
    this.#sink = sink;
    this.status = { state: 'connected', since: Date.now(), info: definition.info };
  }

  async ready(): Promise<ServerInfo> {
    return this.#definition.info;
  }

  async call(call: OutgoingCall): Promise<CallOutcome> {
    return this.#run(call, capabilitiesIn(call.meta));
  }

  async resume(from: ResumePoint, call: OutgoingCall): Promise<CallOutcome> {
    let checkpoint: AppResumePoint;
    try {
      checkpoint = readAppResumePoint(from);
    } catch (error) {
      return failed(messageOf(error));
    }
    if ('task' in checkpoint) return this.#follow(checkpoint.task, call, checkpoint.capabilities);
    return this.#run(call, checkpoint.capabilities);
  }

  async #run(call: OutgoingCall, capabilities: Capabilities | undefined): Promise<CallOutcome> {
    const tool = this.#definition.tools.get(call.tool);
    if (tool === undefined) return { kind: 'error', error: this.#unknownTool(call.tool) };
    const ran = await runTool(tool, call, this.#sink, capabilities);
    return 'outcome' in ran ? ran.outcome : this.#follow(ran.taskId, call, capabilities);
  }

  async #follow(taskId: string, call: OutgoingCall, capabilities: Capabilities | undefined): Promise<CallOutcome> {
    if (this.#tasks !== undefined) return followAppTask(this.#tasks, taskId, call, this.#sink, capabilities);
    const message = `'${call.tool}' returned a task, but createTaskServer was called without 'tasks'; pass the controller of the task`;
    return { kind: 'error', error: { code: -32603, message } };
  }

  async relay({ method, params, signal }: OutgoingRequest): Promise<Record<string, unknown>> {
    return this.request(method, params, signal);
  }

  async request(
    method: string,
    params: Record<string, unknown>,
    signal: AbortSignal = NEVER,
  ): Promise<Record<string, unknown>> {
    const { tools, requests } = this.#definition;
    if (method === 'tools/list') return { tools: [...tools.values()].map(({ shown }: Tool) => shown) };
    if (method === 'tools/call')
      throw new RpcError(INVALID_PARAMS, "'name' is not a string, or 'arguments' is not an object");
    const handler = requests.get(method);
    if (handler === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    return handler(params, { signal });
  }

  async subscribe(): Promise<never> {
    throw new RpcError(METHOD_NOT_FOUND, 'Method not found: resources/subscribe');
  }

  async unsubscribe(): Promise<never> {
    throw new RpcError(METHOD_NOT_FOUND, 'Method not found: resources/unsubscribe');
  }

  notify(): void {
    // Handlers receive no notifications.
  }

  async close(): Promise<void> {}

  #unknownTool(name: string): { code: number; message: string } {
    return { code: INVALID_PARAMS, message: `Tool ${name} not found; ${known(this.#definition.tools.keys())}` };
  }
}
