/** Clients that write down what they tell. The test owns them. */
import { expect } from 'vitest';
import type { ServerConfig, TaskClientEvents, ToolCallMessage, ToolCallStream } from '../../../src/client/index.ts';
import { TaskClient, TaskClientError, type TaskClientOptions } from '../../../src/client/index.ts';
import { defer } from '../../support/owned.ts';

export type EventName = keyof TaskClientEvents;

export type Heard = { [K in EventName]: { type: K; detail: TaskClientEvents[K] } }[EventName];

export interface Listening {
  client: TaskClient;
  /** All events so far, in order. */
  heard: Heard[];
  /** The details of those of one name. */
  of: <K extends EventName>(type: K) => TaskClientEvents[K][];
  /** The names of those that tell of calls, tasks and questions. */
  names: () => EventName[];
}

/** Typed as a record so that none can be forgotten. */
const NAMES: Record<EventName, true> = {
  taskCreated: true,
  taskStatusChange: true,
  taskCompleted: true,
  taskFailed: true,
  taskCancelled: true,
  tasksChange: true,
  toolCallResultChange: true,
  newPendingElicitation: true,
  newPendingSample: true,
  progressNotification: true,
  notification: true,
  log: true,
  connected: true,
  disconnected: true,
};

const OTHERS = new Set<EventName>(['connected', 'disconnected', 'log', 'notification']);

export const EVENT_NAMES = Object.keys(NAMES) as EventName[];

export function clientOf(server: ServerConfig, options: TaskClientOptions = {}): Listening {
  const client = new TaskClient(server, options);
  defer(() => client.disconnect());
  const heard: Heard[] = [];
  for (const type of EVENT_NAMES) {
    client.addEventListener(type, ({ detail }) => heard.push({ type, detail } as Heard));
  }
  const of = <K extends EventName>(type: K): TaskClientEvents[K][] =>
    heard.filter((each) => each.type === type).map(({ detail }) => detail as TaskClientEvents[K]);
  const names = (): EventName[] => heard.map(({ type }) => type).filter((type) => !OTHERS.has(type));
  return { client, heard, of, names };
}

export async function messagesOf(stream: ToolCallStream): Promise<ToolCallMessage[]> {
  const messages: ToolCallMessage[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

/** The error that a promise of a client must end with. */
export async function errorOf(promise: Promise<unknown>): Promise<TaskClientError> {
  const error: unknown = await promise.then(
    (value) => new Error(`no error, but ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(TaskClientError);
  return error as TaskClientError;
}

/** Waits until something is so. */
export function soon<T>(value: () => T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(value, { timeout: 10_000 });
}

/** Waits for the next one. */
export async function next<T>(list: () => T[], index = 0): Promise<T> {
  await soon(() => list().length).toBeGreaterThan(index);
  return list()[index] as T;
}

export function text(value: string): { content: Record<string, unknown>[] } {
  return { content: [{ type: 'text', text: value }] };
}

/** What a server of the v2 SDK writes into the `_meta` of each result, without being asked. */
export const SIGNATURE = 'io.modelcontextprotocol/serverInfo';

/** A result but for that. */
export function unsigned(result: Record<string, unknown> | null): Record<string, unknown> {
  const { _meta, ...rest } = result ?? {};
  const { [SIGNATURE]: _signature, ...meta } = (_meta ?? {}) as Record<string, unknown>;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
