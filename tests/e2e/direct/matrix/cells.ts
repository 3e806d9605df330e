/**
 * The bridge matrix: every kind of client with every kind of server, and in a few words how that works. The tests walk
 * through these cells and docs/DIRECT.md shows them, so there is none without a test.
 */

export const CLIENTS = {
  tools: 'legacy, tools only',
  asked: 'legacy, with elicitation and sampling',
  tasks: 'legacy, with 2025-11-25 tasks',
  rounds: 'modern, with MRTR',
  extension: 'modern, with the tasks extension',
} as const;

/** Each completes “a server that …”. */
export const SERVERS = {
  plain: 'answers, fast or slowly',
  pushes: 'pushes questions',
  tasks: 'has 2025-11-25 tasks',
  rounds: 'asks in rounds (MRTR)',
  extension: 'has tasks of the extension',
} as const;

export type ClientKind = keyof typeof CLIENTS;
export type ServerKind = keyof typeof SERVERS;

/**
 * How a question reaches the one who answers it: a tool of the hub, a request on the stream of the call, a request that
 * names a task, a round of the call, or the state of a task.
 */
export type Via = 'hub' | 'request' | 'task request' | 'round' | 'task';

export interface Cell {
  client: ClientKind;
  server: ServerKind;
  how: string;
  /** One of these for each question; a server that does not ask has none. */
  via: readonly Via[];
}

type Row = Record<ServerKind, { how: string; via: readonly Via[] }>;

const HUB = ['hub'] as const;
const REQUEST = ['request'] as const;
const TASK_REQUEST = ['task request'] as const;
const ROUND = ['round'] as const;

const ROWS: Record<ClientKind, Row> = {
  tools: {
    plain: { how: 'the call stays open', via: [] },
    pushes: { how: 'the call stays open; answered at the hub', via: HUB },
    tasks: { how: 'the call stays open, the gateway follows the task; answered at the hub', via: HUB },
    rounds: { how: 'the call stays open, the gateway makes the rounds; answered at the hub', via: HUB },
    extension: { how: 'the call stays open, the gateway follows the task; answered at the hub', via: HUB },
  },
  asked: {
    plain: { how: 'the call stays open', via: [] },
    pushes: { how: 'request → request on the call’s stream', via: REQUEST },
    tasks: { how: 'the gateway follows the task; asked on the call’s stream', via: REQUEST },
    rounds: { how: 'round → request on the call’s stream', via: REQUEST },
    extension: { how: 'the gateway follows the task; asked on the call’s stream', via: REQUEST },
  },
  tasks: {
    plain: { how: 'a task of the gateway', via: [] },
    pushes: { how: 'a task of the gateway; request → asked on `tasks/result`', via: TASK_REQUEST },
    tasks: { how: 'task → task; asked on `tasks/result`', via: TASK_REQUEST },
    rounds: { how: 'a task of the gateway; round → asked on `tasks/result`', via: TASK_REQUEST },
    extension: { how: 'task → task; asked on `tasks/result`', via: TASK_REQUEST },
  },
  rounds: {
    plain: { how: 'the call stays open', via: [] },
    pushes: { how: 'request → round', via: ROUND },
    tasks: { how: 'the gateway follows the task; its question → round', via: ROUND },
    rounds: { how: 'round → round', via: ROUND },
    extension: { how: 'the gateway follows the task; its question → round', via: ROUND },
  },
  extension: {
    plain: { how: 'a task of the gateway if the call is slow', via: [] },
    pushes: { how: 'request → round, or `tasks/update` once it is a task', via: ['round', 'task'] },
    tasks: { how: 'task → task; answered with `tasks/update`', via: ['task'] },
    rounds: { how: 'round → round, or `tasks/update` once it is a task', via: ['round', 'task'] },
    extension: { how: 'task → task; answered with `tasks/update`', via: ['task'] },
  },
};

export const CELLS: readonly Cell[] = keysOf(ROWS).flatMap((client) =>
  keysOf(ROWS[client]).map((server) => ({ client, server, ...ROWS[client][server] })),
);

export function keysOf<K extends string>(record: Record<K, unknown>): K[] {
  return Object.keys(record) as K[];
}
