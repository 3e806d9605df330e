import { expect, test } from 'vitest';
import { createTaskController, createTaskServer, type TaskServer } from '../../../src/server/index.ts';
import { owned } from '../../support/owned.ts';
import {
  cancelWorks,
  questionsAreAnswered,
  resultsAreRight,
  SETTINGS,
  slowIsFine,
  twoQuestionsAreAnswered,
} from '../direct/matrix/checks.ts';
import { CLIENTS, keysOf, type ServerKind, type Via } from '../direct/matrix/cells.ts';
import type { ClientKind } from '../direct/matrix/cells.ts';
import { driversOf } from '../direct/matrix/drivers.ts';
import type { MatrixServer } from '../direct/matrix/servers.ts';
import { whoIs } from '../direct/matrix/answers.ts';
import { beginners, handlers, newRecord, startWorker, type AppRecord } from './app.ts';

interface Way {
  /** Completes “a tool that …”. */
  tool: string;
  /** What its clients take such a server for. */
  kind: ServerKind;
  serve: (record: AppRecord) => Promise<TaskServer>;
  via: Record<ClientKind, readonly Via[]>;
}

const APP = { name: 'app', version: '1.0.0', settings: SETTINGS };

const WAYS: Way[] = [
  {
    tool: 'does its work itself',
    kind: 'pushes',
    serve: async (record) => owned(createTaskServer({ ...APP, tools: handlers(record) })),
    via: { tools: [], asked: ['request'], tasks: ['task request'], rounds: ['round'], extension: ['round', 'task'] },
  },
  {
    tool: 'leaves its work to another part of the program',
    kind: 'extension',
    serve: async (record) => {
      const tasks = owned(await createTaskController());
      startWorker(record, tasks);
      return owned(createTaskServer({ ...APP, tasks, tools: beginners(record, tasks) }));
    },
    via: { tools: [], asked: ['request'], tasks: ['task request'], rounds: ['round'], extension: ['task'] },
  },
];

const PAIRS = WAYS.flatMap((way) =>
  keysOf(CLIENTS).flatMap((client) =>
    driversOf(client, 'http').map((driver) => ({ client, who: CLIENTS[client], ...driver, ...way })),
  ),
);

test.each(PAIRS)('D-1, D-2, D-3, D-4: a client ($who) calls a tool that $tool (HTTP, $player)', async (pair) => {
  const record = newRecord();
  const url = await (await pair.serve(record)).listen();
  const via = pair.via[pair.client];
  const client = await pair.open({ url });
  const server: MatrixServer = {
    config: { url },
    calls: async () => record.calls,
    cancelled: async () => record.cancelled,
    unfinished: () => 0,
  };
  const asking = { client, names: ['Ada', 'Ben', 'Cleo'], answerer: client, via };
  const [slow] = await Promise.all([
    slowIsFine(client, server, pair.kind),
    // The application keeps no tasks on its own account: there is no tool that must be one.
    resultsAreRight(client, server, 'pushes'),
    // Without a session and without tasks a client has no word for it: leaving means that it comes back.
    ...(pair.client === 'rounds' ? [] : [cancelWorks(client, server)]),
    ...(via.length > 0 ? [questionsAreAnswered(asking), twoQuestionsAreAnswered(asking)] : []),
  ]);
  expect(slow.asTask).toBe(pair.client === 'tasks' || pair.client === 'extension');
  expect(client.asked).toHaveLength(via.length > 0 ? 8 : 0);
  if (via.length === 0) {
    const refused = await client.call('ask', { message: whoIs('Ada') }).catch(String);
    expect(JSON.stringify(refused)).toMatch(/the client did not declare elicitation/);
  }
  await client.close();
});
