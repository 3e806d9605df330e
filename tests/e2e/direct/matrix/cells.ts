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
  tasks: 'keeps 2025-11-25 tasks',
  rounds: 'asks in rounds (MRTR)',
  extension: 'keeps tasks of the extension',
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
    pushes: { how: 'the call stays open; answers come from the hub', via: HUB },
    tasks: { how: 'task followed for the open call; answers come from the hub', via: HUB },
    rounds: { how: 'rounds made for the open call; answers come from the hub', via: HUB },
    extension: { how: 'task followed for the open call; answers come from the hub', via: HUB },
  },
  asked: {
    plain: { how: 'the call stays open', via: [] },
    pushes: { how: 'request → request on the call’s stream', via: REQUEST },
    tasks: { how: 'task followed; asked on the call’s stream', via: REQUEST },
    rounds: { how: 'round → request on the call’s stream', via: REQUEST },
    extension: { how: 'task followed; asked on the call’s stream', via: REQUEST },
  },
  tasks: {
    plain: { how: 'our task around the call', via: [] },
    pushes: { how: 'our task; request → asked on `tasks/result`', via: TASK_REQUEST },
    tasks: { how: 'task → task; asked on `tasks/result`', via: TASK_REQUEST },
    rounds: { how: 'our task; round → asked on `tasks/result`', via: TASK_REQUEST },
    extension: { how: 'task → task; asked on `tasks/result`', via: TASK_REQUEST },
  },
  rounds: {
    plain: { how: 'the call stays open', via: [] },
    pushes: { how: 'request → round', via: ROUND },
    tasks: { how: 'task followed; its question → round', via: ROUND },
    rounds: { how: 'round → round', via: ROUND },
    extension: { how: 'task followed; its question → round', via: ROUND },
  },
  extension: {
    plain: { how: 'our task once the call is slow', via: [] },
    pushes: { how: 'request → round, or `tasks/update` once it is a task', via: ['round', 'task'] },
    tasks: { how: 'task → task; answered by `tasks/update`', via: ['task'] },
    rounds: { how: 'round → round, or `tasks/update` once it is a task', via: ['round', 'task'] },
    extension: { how: 'task → task; answered by `tasks/update`', via: ['task'] },
  },
};

export const CELLS: readonly Cell[] = keysOf(ROWS).flatMap((client) =>
  keysOf(ROWS[client]).map((server) => ({ client, server, ...ROWS[client][server] })),
);

export function keysOf<K extends string>(record: Record<K, unknown>): K[] {
  return Object.keys(record) as K[];
}
