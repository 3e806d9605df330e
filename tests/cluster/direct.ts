/** Clients of the direct endpoints and of /mcp/all: the SDKs themselves, with another gateway for each request. */
import { setTimeout as delay } from 'node:timers/promises';
import { kindOf, type ServerKind } from '../crash/calls.ts';
import type { CrashClient } from '../crash/client.ts';
import { Faults } from '../crash/check/faults.ts';
import type { History, LoadCall } from '../crash/history.ts';
import type { Random } from '../crash/random.ts';
import { labelIn, type Seen } from '../crash/servers.ts';
import { list, object, parsed, type Json } from '../crash/told.ts';
import { AGE, answerTo, describe, described, formFilledIn, NOBODY, whoIs } from '../e2e/direct/matrix/answers.ts';
import type { MatrixClient, Open } from '../e2e/direct/matrix/client.ts';
import { extTasks } from '../e2e/direct/matrix/clients/ext-tasks.ts';
import { v1Asked, v1Tasks, v1ToolsOnly } from '../e2e/direct/matrix/clients/v1.ts';
import { v2Asked, v2Rounds } from '../e2e/direct/matrix/clients/v2.ts';
import { balancedFetch } from './balanced-fetch.ts';
import type { Cluster } from './cluster.ts';

interface Player {
  name: string;
  open: Open;
  /** What it calls; `all` are those of the group of all servers. */
  at: readonly (ServerKind | 'all')[];
}

const EVERYWHERE = ['plain', 'rounds', 'core', 'ext', 'child', 'all'] as const;

/** Each has one endpoint in a round. */
const PLAYERS: readonly Player[] = [
  { name: 'tools', open: v1ToolsOnly, at: EVERYWHERE },
  { name: 'asked', open: v1Asked, at: EVERYWHERE },
  { name: 'asked-v2', open: v2Asked, at: EVERYWHERE },
  { name: 'tasks', open: v1Tasks, at: ['plain', 'rounds', 'core', 'ext', 'child'] },
  { name: 'rounds', open: v2Rounds, at: EVERYWHERE },
  { name: 'ext-tasks', open: extTasks, at: EVERYWHERE },
];

/** A task of the 2025-11-25 protocol sends its question once: when that is lost with a gateway, its client waits for ever. */
const CALLED: Record<ServerKind, readonly string[]> = {
  plain: ['echo', 'slow', 'ask', 'sample'],
  rounds: ['echo', 'slow', 'ask', 'ask_twice', 'sample'],
  core: ['echo', 'slow'],
  ext: ['echo', 'slow', 'ask', 'ask_twice', 'sample'],
  child: ['echo', 'slow', 'ask'],
};

/** Longer than anything takes. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

/** A call of a client of an SDK, and what became of it. */
export interface DirectCall extends LoadCall {
  client: string;
  sent: number;
  received: number;
  /** Nothing if all is as it should be. */
  failed?: string;
  /** The reason of the server's tool or of the gateway, not of a broken connection. */
  isError?: boolean;
}

export interface DirectLoad {
  cluster: Cluster;
  history: History;
  token: string;
  next: () => number;
  readonly stopping: boolean;
  /** No call is under way any more. */
  readonly isOver: boolean;
  calls: DirectCall[];
  /** What was sent where, to be read by people. */
  tried: string[];
}

/** Of all kinds of clients, or of some. */
export function directLanes(random: Random, load: DirectLoad, count = PLAYERS.length): Promise<void>[] {
  return random
    .shuffled(PLAYERS)
    .slice(0, count)
    .map((player) => directLane(player, random.fork(player.name), load));
}

async function directLane({ name, open, at }: Player, random: Random, load: DirectLoad): Promise<void> {
  const { cluster, history, calls } = load;
  const endpoint = random.pick(at) ?? 'plain';
  const client = `direct ${name} at ${endpoint}`;
  let broken = (): void => {};
  const fetch = balancedFetch({
    target: cluster.inTurn(`/${endpoint}`),
    token: load.token,
    onTried: (line) => load.tried.push(`${history.moment()} ${client} ${line}`),
    onBroken: () => broken(),
  });
  const connected = await open({ url: cluster.inTurn(`/${endpoint}`).url }, fetch);
  while (!load.stopping) {
    await cluster.up();
    const server = endpoint === 'all' ? random.pick(['plain', 'rounds', 'core', 'ext'] as const) : endpoint;
    const tool = random.pick(CALLED[server]) ?? 'echo';
    const call = callOf(tool, `d${load.next()}`, server, random);
    const sent = history.moment();
    const breaks = new Promise<never>((_resolve, reject) => {
      broken = () => reject(new Error('terminated'));
    });
    const failed = await make(connected, endpoint === 'all' ? `${server}__${tool}` : tool, call, breaks);
    calls.push({ client, server, tool, label: labelIn(call.args), sent, received: history.moment(), ...failed });
    await delay(random.int(0, 100));
  }
}

/** Answers at the hub what clients cannot be asked. */
export async function deskLane(hub: CrashClient, load: DirectLoad): Promise<void> {
  while (!load.isOver) {
    await load.cluster.up();
    const asked = await Promise.all(['get_elicitations', 'get_sampling_requests'].map((tool) => hub.call(tool)));
    for (const { body } of asked.filter((told) => told !== undefined)) {
      for (const question of list(body['elicitations'])) {
        const content = formFilledIn(question);
        await hub.call('respond_to_elicitation', { request_id: question['requestId'], action: 'accept', content });
      }
      for (const question of list(body['sampling_requests'])) {
        const answer = answerTo('sampling/createMessage', object(question['params']));
        await hub.call('respond_to_sampling', { request_id: question['requestId'], ...answer });
      }
    }
    await delay(LOOK_MS);
  }
}

interface Call {
  args: Json;
  expected: string;
}

function callOf(tool: string, label: string, server: ServerKind, random: Random): Call {
  const forExtension = server === 'ext' && { text: label };
  switch (tool) {
    case 'ask':
      return { args: { message: whoIs(label), ...forExtension }, expected: `Hello ${label}` };
    case 'ask_twice':
      return { args: server === 'ext' ? { text: label } : { label }, expected: `Hello ${NOBODY}, ${AGE}` };
    case 'sample':
      return { args: { prompt: describe(label), ...forExtension }, expected: described(label) };
    case 'slow':
      return { args: { text: label, ms: random.int(20, 1500) }, expected: label };
    default:
      return { args: { text: label }, expected: label };
  }
}

async function make(
  client: MatrixClient,
  tool: string,
  { args, expected }: Call,
  breaks: Promise<never>,
): Promise<Pick<DirectCall, 'failed' | 'isError'>> {
  const over = new AbortController();
  const late = delay(PATIENCE_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`no answer in ${PATIENCE_MS} ms`);
  });
  late.catch(() => {});
  breaks.catch(() => {});
  try {
    const { content, isError } = await Promise.race([client.call(tool, args), late, breaks]);
    const text = String(list(content)[0]?.['text']);
    if (isError) return { failed: text, isError };
    const said = tool.endsWith('sample') ? object(object(parsed(text))['content'])['text'] : text;
    return said === expected ? {} : { failed: `got ${text}` };
  } catch (error) {
    const { code, message = '' } = object(object(error)['cause']) as { code?: string; message?: string };
    return { failed: `${String(error)} ${code ?? message}` };
  } finally {
    over.abort();
  }
}

/** The client had no connection any more, and cannot know what became of its call. */
const BROKEN =
  /fetch failed|terminated|ECONNRESET|EPIPE|other side closed|UND_ERR_SOCKET|HTTP 50[234]|CLIENT_HTTP_NOT_IMPLEMENTED/;
/** The gateway says what was the end of it. */
const ENDED =
  /gateway restarted|the answer is not stored yet|not wanted any more|Task \S+ failed|was lost while this request was open|shutting down|could not write to its store/;

export function checkDirect(
  calls: readonly DirectCall[],
  { faults: done, mishaps }: History,
  { calls: seen, followed }: Seen,
) {
  const faults = new Faults([...done, ...mishaps]);
  return calls.flatMap((call) => {
    const { client, server, tool, label, sent, received, failed, isError } = call;
    const name = `${client}: ${server}.${tool} ${label}`;
    const times = seen.get(`${server} ${label}`) ?? 0;
    const questions = kindOf(server, tool)?.questions ?? 0;
    const most = 1 + (server === 'rounds' ? questions : 0);
    const kept = questions === 0 && (server === 'core' || server === 'ext') && followed.has(`${server} ${label}`);
    const wrong = [
      times > most && `was run ${times} times`,
      failed === undefined && times === 0 && 'has a result, but was never run',
      failed !== undefined && !BROKEN.test(failed) && !ENDED.test(failed) && `failed: ${failed}`,
      failed !== undefined && !faults.between(sent, received) && `failed without a reason to: ${failed}`,
      isError === true && kept && `could have gone on, but failed: ${failed}`,
    ];
    return wrong.filter((what) => typeof what === 'string').map((what) => `${name} ${what}`);
  });
}
