/**
 * A server by hand that does, tool by tool, what no server should do; the names of its tools say what. `echo` and `honest`
 * do as they should. The eras share their tools' names where they can tell the same lie.
 */
import { randomUUID } from 'node:crypto';
import { LEGACY_LIES, legacyTask } from './liar/legacy-lies.ts';
import { MODERN_LIES, modernTask } from './liar/modern-lies.ts';
import { text, type Json, type Lie, type Peer } from './liar/peer.ts';

export { BROKEN_QUESTIONS } from './liar/peer.ts';

/**
 * `undeclared` makes tasks without having said that it would; `listless` does not answer `tools/list`, and `listshy` refuses
 * to. `ancient` negotiates a version nobody knows; `stranger` and `parrot` speak no MCP at all.
 */
export type Manner = 'legacy' | 'modern' | 'undeclared' | 'listless' | 'listshy' | 'ancient' | 'stranger' | 'parrot';

export interface Request {
  readonly method: string;
  readonly params: Json;
}

type Answer = (params: Json, peer: Peer) => void | Promise<void>;

export class Liar {
  /** How often each was asked for, and `tasks/get <tool>` for each tool. */
  readonly seen = new Map<string, number>();
  readonly #lies: Record<string, Lie>;
  readonly #methods: Record<string, Answer>;
  readonly #modern: boolean;
  readonly #polls = new Map<string, number>();

  constructor(manner: Manner) {
    this.#modern = manner === 'modern' || manner === 'undeclared';
    this.#lies = this.#modern ? MODERN_LIES : LEGACY_LIES;
    this.#methods = {
      ...(this.#modern ? discovery(manner === 'modern') : initialization(manner === 'ancient')),
      ping: (_params, peer) => peer.reply({}),
      'tools/list': (_params, peer) => this.#list(manner, peer),
      'tools/call': (params, peer) => this.#call(params, peer),
      'tasks/get': (params, peer) => this.#get(params, peer),
      'tasks/cancel': ({ taskId }, peer) =>
        peer.reply(this.#modern ? { resultType: 'complete' } : legacyTask(String(taskId), 'cancelled')),
      ...(this.#modern
        ? { 'tasks/update': (params: Json, peer: Peer) => this.#update(params, peer) }
        : { 'tasks/result': (params: Json, peer: Peer) => this.#result(params, peer) }),
    };
  }

  async handle({ method, params }: Request, peer: Peer): Promise<void> {
    this.#count(method);
    const answer = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (answer === undefined) peer.fail(-32601, `Method not found: ${method}`);
    else await answer(params, peer);
  }

  #list(manner: Manner, peer: Peer): void {
    if (manner === 'listless') return;
    if (manner === 'listshy') peer.fail(-32603, 'none of your business');
    else peer.reply({ ...this.#complete(), tools: this.#tools() });
  }

  #call(params: Json, peer: Peer): void | Promise<void> {
    const tool = String(params['name']);
    const lie = this.#lies[tool];
    if (lie === undefined) return peer.fail(-32602, `Unknown tool: ${tool}`);
    return lie.call(peer, {
      taskId: `${tool}.${randomUUID()}`,
      args: (params['arguments'] ?? {}) as Json,
      progressToken: ((params['_meta'] ?? {}) as Json)['progressToken'],
      inputResponses: params['inputResponses'] as Json | undefined,
    });
  }

  #get({ taskId: given }: Json, peer: Peer): void {
    const taskId = String(given);
    const poll = (this.#polls.get(taskId) ?? 0) + 1;
    this.#polls.set(taskId, poll);
    const lie = this.#lieOf(taskId);
    this.#count(`tasks/get ${toolOf(taskId)}`);
    if (lie?.get) return lie.get(peer, taskId, poll);
    if (lie === undefined) return peer.fail(-32602, `Task not found: ${taskId}`);
    peer.reply(
      this.#modern
        ? { resultType: 'complete', ...modernTask(taskId, 'completed', { result: text('in the end') }) }
        : legacyTask(taskId, 'completed'),
    );
  }

  #result({ taskId }: Json, peer: Peer): void | Promise<void> {
    const lie = this.#lieOf(String(taskId));
    if (lie?.result) return lie.result(peer, String(taskId));
    peer.reply(text('in the end'));
  }

  #update({ taskId, inputResponses }: Json, peer: Peer): void {
    const lie = this.#lieOf(String(taskId));
    if (lie?.update) lie.update(peer, String(taskId), inputResponses as Json);
    else peer.fail(-32602, 'Task not found');
  }

  #lieOf(taskId: string): Lie | undefined {
    const tool = toolOf(taskId);
    return Object.hasOwn(this.#lies, tool) ? this.#lies[tool] : undefined;
  }

  #tools(): Json[] {
    return Object.entries(this.#lies).map(([name, { taskSupport }]) => ({
      name,
      inputSchema: { type: 'object' },
      ...(taskSupport && { execution: { taskSupport } }),
    }));
  }

  #complete(): Json {
    return this.#modern ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
  }

  #count(name: string): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + 1);
  }
}

function toolOf(taskId: string): string {
  return taskId.split('.')[0] ?? '';
}

const INFO = { name: 'liar', version: '6.6.6' };

function discovery(declares: boolean): Record<string, Answer> {
  const extensions = declares ? { 'io.modelcontextprotocol/tasks': {} } : {};
  return {
    'server/discover': (_params, peer) =>
      peer.reply({
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, extensions },
      }),
  };
}

function initialization(ancient: boolean): Record<string, Answer> {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  return {
    initialize: (_params, peer) =>
      peer.reply({
        protocolVersion: ancient ? '1999-12-31' : '2025-11-25',
        capabilities: { tools: {}, tasks },
        serverInfo: INFO,
      }),
  };
}
