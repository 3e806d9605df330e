/** What clients do all the time: call, look, answer, cancel. Each lane does one thing after the other, as it likes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CallKind } from './calls.ts';
import type { CrashClient } from './client.ts';
import type { History, LoadCall } from './history.ts';
import type { Random } from './random.ts';
import { ANSWER } from './servers.ts';
import { object, type Told, type ToldQuestion } from './told.ts';

const ENDED = new Set(['completed', 'failed', 'cancelled', 'expired']);

export interface Load {
  /** Resolves once there is a gateway to talk to. */
  gateway: { up(): Promise<void> };
  history: History;
  /** What is called. */
  kinds: readonly [CallKind, ...CallKind[]];
  /** Numbers that are given once. */
  next: () => number;
  readonly stopping: boolean;
}

type Action = (client: CrashClient, random: Random, load: Load) => Promise<unknown>;

/** Does what it likes, one after the other, until the load is stopped. */
async function lane(
  client: CrashClient,
  random: Random,
  load: Load,
  choose: (random: Random) => Action,
): Promise<void> {
  while (!load.stopping) {
    await load.gateway.up();
    if (load.stopping) return;
    const done = await choose(random)(client, random, load);
    // Nothing came back: it is not there, and what is sent to it until it is killed officially only fails again.
    await delay(done === undefined ? random.int(5, 20) : random.int(0, 25));
  }
}

export function callerLane(client: CrashClient, random: Random, load: Load): Promise<void> {
  return lane(client, random, load, (choice) =>
    choice.chance(0.2) ? severalCalls : choice.chance(0.06) ? notify : call,
  );
}

export function followerLane(client: CrashClient, random: Random, load: Load): Promise<void> {
  return lane(client, random, load, (choice) => choice.pick(FOLLOWER_ACTIONS));
}

const call: Action = async (client, random, { next, kinds }) => {
  const kind = random.pick(kinds);
  const label = `${client.name}-${next()}`;
  const { server, tool } = kind;
  const args = { server, tool, args: kind.args(label, random), timeout_ms: kind.timeoutMs(random) };
  return client.call('execute_tool', args, { label, server, tool });
};

/** Side by side, as a model does that calls several tools at once. */
const severalCalls: Action = async (client, random, load) => {
  const calls = Array.from({ length: random.int(2, 4) }, async () => call(client, random, load));
  return (await Promise.all(calls)).find((told) => told !== undefined);
};

const notify: Action = async (client, random, { next }) => {
  const of: LoadCall = { label: `${client.name}-${next()}`, server: 'plain', tool: 'notify' };
  const args = { count: random.int(1, 4), label: of.label };
  return client.call('execute_tool', { server: 'plain', tool: 'notify', args }, of);
};

const awaitActivity: Action = async (client, random) =>
  client.call('await_activity', { timeout_ms: random.int(0, 200) });

const listTasks: Action = async (client, random) =>
  client.call('list_tasks', random.chance(0.1) ? { include_completed: true } : {});

const getElicitations: Action = async (client) => client.call('get_elicitations');

const getTask: Action = async (client, random) => {
  const task_id = random.pick([...client.tasks.keys()]);
  return task_id === undefined ? client.call('list_tasks') : client.call('get_task', { task_id });
};

const getTaskResult: Action = async (client, random) => {
  const task_id = random.pick([...client.tasks.keys()]);
  if (task_id === undefined) return client.call('list_tasks');
  return client.call('get_task_result', { task_id, timeout_ms: random.int(0, 300) });
};

const cancel: Action = async (client, random) => {
  const working = [...client.tasks].filter(([, status]) => !ENDED.has(status)).map(([id]) => id);
  const task_id = random.pick(working);
  return task_id === undefined ? client.call('list_tasks') : client.call('cancel_task', { task_id });
};

const answer: Action = async (client, random, load) => {
  const question = random.pick(client.open);
  if (question === undefined) return getElicitations(client, random, load);
  // Two at once, as two windows of one person might: only one of them can be the one.
  if (random.chance(0.15)) {
    const both = await Promise.all([
      answerOne(client, question, random, load),
      answerOne(client, question, random, load),
    ]);
    return both.find((told) => told !== undefined);
  }
  return answerOne(client, question, random, load);
};

/** Each answer says something that no other one says. */
export async function answerOne(
  client: CrashClient,
  { id: request_id, kind, field = 'name' }: ToldQuestion,
  random: Random,
  { next }: Pick<Load, 'next'>,
): Promise<Told | undefined> {
  const said = `${ANSWER}${next()}`;
  if (kind === 'sampling') {
    const content = { type: 'text', text: said };
    return client.call('respond_to_sampling', { request_id, role: 'assistant', model: 'test', content });
  }
  if (random.chance(0.1)) return client.call('respond_to_elicitation', { request_id, action: 'decline' });
  const content = field === 'age' ? { age: random.int(0, 150) } : { [field]: said };
  return client.call('respond_to_elicitation', { request_id, action: 'accept', content });
}

const FOLLOWER_ACTIONS: readonly [Action, ...Action[]] = [
  awaitActivity,
  awaitActivity,
  listTasks,
  getElicitations,
  getTask,
  getTaskResult,
  getTaskResult,
  cancel,
  answer,
  answer,
  answer,
  answer,
];

/** Comes, starts something and leaves for good, again and again. */
export async function visitorLane(newClient: () => CrashClient, random: Random, load: Load): Promise<void> {
  while (!load.stopping) {
    await load.gateway.up();
    if (load.stopping) return;
    const client = newClient();
    try {
      await visit(client, random, load);
    } finally {
      client.hangUp();
    }
    await delay(random.int(50, 300));
  }
}

async function visit(client: CrashClient, random: Random, load: Load): Promise<void> {
  if (!(await client.begin())) return;
  await call(client, random, load);
  if (!(await client.end())) return;
  if (random.chance(0.5)) await delay(random.int(0, 400));
  await load.gateway.up();
  if ((await client.isKnown()) === true) {
    load.history.refused(client.name, 'its session had ended, and the gateway had said so, but knows it again');
  }
}

export interface Registered {
  /** The servers that must be there, and must not. */
  name: string;
  there: boolean | 'unknown';
  /** What a change makes of it that was not confirmed: the gateway that could not store it may do so later, once. */
  late?: boolean | undefined;
}

/** Adds and removes a server, over and over; what it was told last must hold. */
export async function operatorLane(
  client: CrashClient,
  url: string,
  random: Random,
  load: Load,
  registered: Registered,
): Promise<void> {
  while (!load.stopping) {
    await load.gateway.up();
    if (load.stopping) return;
    await checkRegistered(client, load.history, registered);
    const add = registered.there !== true;
    registered.there = 'unknown';
    const told = add
      ? await client.call('add_server', { name: registered.name, url })
      : await client.call('remove_server', { name: registered.name });
    if (told !== undefined && !told.isError) registered.there = add;
    else registered.late = add;
    await delay(random.int(50, 400));
  }
}

export async function checkRegistered(client: CrashClient, history: History, registered: Registered): Promise<void> {
  const { name, there, late } = registered;
  const told = await client.call('list_servers');
  if (told === undefined || told.isError || there === 'unknown') return;
  const servers = (told.body['servers'] ?? []) as unknown[];
  const isThere = servers.some((server) => object(server)['name'] === name);
  if (isThere === there) return;
  registered.late = undefined;
  if (isThere === late) return;
  history.refused(
    client.name,
    `it was told that server '${name}' is ${there ? 'added' : 'removed'}, which does not hold`,
  );
}
