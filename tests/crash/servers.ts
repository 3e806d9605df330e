/** The servers behind the gateway. They live in this process, so that they survive what the gateway does not; but for one. */
import { existsSync, readFileSync } from 'node:fs';
import { startTasksV1Http } from '../servers/tasks-v1-http.ts';
import { newTasksV1State } from '../servers/tasks-v1-server.ts';
import { startTasksV2Http } from '../servers/tasks-v2-http.ts';
import { newTasksV2State } from '../servers/tasks-v2-server.ts';
import type { Received } from '../servers/tasks/state.ts';
import { startV1Http } from '../servers/v1-http.ts';
import { startV2Http } from '../servers/v2-http.ts';
import { list, object, parsed, type Json } from './told.ts';

/** What the servers saw of the gateway, by the labels in what it sent. */
export interface Seen {
  /** How often each call was sent, as `server label`. */
  calls: Map<string, number>;
  /** How often each answer arrived, by what it said. */
  answers: Map<string, number>;
  /** Calls that the server keeps as a task, and was asked about at least once: the gateway knew the task then. */
  followed: Set<string>;
}

/** How each answer begins that no other one is like. */
export const ANSWER = 'answer-';

export interface CrashServers {
  /** plain: answers or asks on the stream. rounds: MRTR. core, ext: tasks of either generation. */
  urls: Record<'plain' | 'rounds' | 'core' | 'ext' | 'more', string>;
  seen(): Seen;
  close(): Promise<void>;
}

/** `record` is the file in which a server writes that is a child of the gateway, if there is one. */
export async function startServers(record?: string): Promise<CrashServers> {
  const remote = new Map<string, string>();
  const plain = await startV1Http();
  const rounds = await startV2Http({ era: 'modern' });
  const more = await startV1Http();
  const core = await startTasksV1Http({ state: namingCore(remote) });
  const ext = await startTasksV2Http({ state: namingExt(remote) });
  const servers = { plain, rounds, core, ext, more };
  return {
    urls: { plain: plain.url, rounds: rounds.url, core: core.url, ext: ext.url, more: more.url },
    seen: () => {
      const seen: Seen = { calls: new Map(), answers: new Map(), followed: new Set() };
      for (const server of ['plain', 'rounds', 'more'] as const) {
        for (const { args } of servers[server].state.calls) count(seen.calls, `${server} ${labelIn(args)}`);
      }
      for (const server of ['core', 'ext'] as const) {
        readMessages(server, servers[server].state.received, remote, seen);
      }
      if (record !== undefined) readMessages('child', readRecord(record), remote, seen);
      return seen;
    },
    close: async () => {
      await Promise.all(Object.values(servers).map((server) => server.close()));
    },
  };
}

/** The state of a server that writes down which task a call became. */
function namingExt(remote: Map<string, string>) {
  const state = newTasksV2State();
  const begin = state.begin.bind(state);
  state.begin = (label, tool) => {
    const task = begin(label, tool);
    remote.set(task.taskId, `ext ${bare(label)}`);
    return task;
  };
  return state;
}

function namingCore(remote: Map<string, string>) {
  const state = newTasksV1State();
  const { working } = state;
  const set = working.set.bind(working);
  working.set = (taskId, work) => {
    remote.set(taskId, `core ${bare(work.label)}`);
    return set(taskId, work);
  };
  return state;
}

/** Without the name of the tool before it. */
function bare(label: string): string {
  return label.slice(label.indexOf(':') + 1);
}

function readRecord(file: string): Pick<Received, 'message'>[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  // The last one may be on its way, and of a child that was killed there may be half of one.
  return lines.flatMap((line) => {
    const { received } = parsed(line) ?? {};
    return received === undefined ? [] : [{ message: received as Received['message'] }];
  });
}

function readMessages(
  server: string,
  received: readonly Pick<Received, 'message'>[],
  remote: Map<string, string>,
  seen: Seen,
): void {
  const responses = new Set<string>();
  for (const { message } of received) {
    const { method, params = {} } = message;
    if (method === 'tools/call') count(seen.calls, `${server} ${labelIn(object(params['arguments']))}`);
    if (method === 'tasks/get') {
      const label = remote.get(String(params['taskId']));
      if (label !== undefined) seen.followed.add(label);
    }
    if (method === 'tasks/update') {
      for (const answer of Object.values(object(params['inputResponses']))) arrived(object(answer), seen);
    }
    // The answer to a request may arrive again without harm: the server knows the request by its id.
    if (method === undefined && 'result' in message) {
      const response = `${JSON.stringify(message.id)} ${JSON.stringify(message.result)}`;
      if (!responses.has(response)) arrived(object(message.result), seen);
      responses.add(response);
    }
  }
}

function arrived(answer: Json, { answers }: Seen): void {
  const said = whatItSays(answer);
  // Only those that say something of their own can be told apart.
  if (said?.startsWith(ANSWER)) count(answers, said);
}

export function labelIn(args: Json): string {
  return String(args['text'] ?? args['message'] ?? args['prompt'] ?? args['label']);
}

/** The word in an answer that no other answer has. */
export function whatItSays({ content }: Json): string | undefined {
  const said = object(content)['name'] ?? object(content)['text'] ?? list(content)[0]?.['text'];
  return typeof said === 'string' ? said : undefined;
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
