import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { LightClient } from './light-client.ts';

const SESSIONS = 200;
const SERVERS = 10;
/** All of them stay; so many talk at the same time, because all that they talk to is in this process too. */
const AT_A_TIME = 40;
/** How many do not say goodbye. */
const SILENT = 10;
const KINDS = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap'];

/** Timers and sockets of this process. The clients, the gateway and the servers are all in it. */
function resources(): Record<string, number> {
  const active = process.getActiveResourcesInfo();
  return Object.fromEntries(KINDS.map((kind) => [kind, active.filter((each) => each === kind).length]));
}

/** One client with words of its own: whatever it gets to hear, other words are not among it. */
class Talker {
  readonly #client: LightClient;
  readonly #word: string;

  constructor(client: LightClient, index: number) {
    this.#client = client;
    this.#word = `word-${index}-`;
  }

  async talk(one: string, other: string): Promise<void> {
    const texts = await Promise.all([this.#echo(one), this.#echo(other), this.#slow(one), this.#ask(one)]);
    const echo = `${this.#word}echo`;
    expect(texts).toEqual([echo, echo, `${this.#word}slow`, `Hello ${this.#word}name`]);
  }

  async tasks(): Promise<number> {
    const { body } = await this.#call('list_tasks', { include_completed: true });
    return (body['tasks'] as unknown[]).length;
  }

  async #echo(server: string): Promise<string> {
    return (await this.#execute(server, 'echo', { text: `${this.#word}echo` })).text;
  }

  async #slow(server: string): Promise<string> {
    const reply = await this.#execute(server, 'slow', { ms: 300, text: `${this.#word}slow` }, 0);
    return (await this.#call('get_task_result', { task_id: taskIdOf(reply) })).text;
  }

  async #ask(server: string): Promise<string> {
    const message = `${this.#word}${server}`;
    const reply = await this.#execute(server, 'ask', { message });
    const question = reply.elicitations.find((each) => each.message === message);
    expect(question?.taskId).toBe(taskIdOf(reply));
    const content = { name: `${this.#word}name` };
    await this.#call('respond_to_elicitation', { request_id: question?.requestId, action: 'accept', content });
    return (await this.#call('get_task_result', { task_id: taskIdOf(reply) })).text;
  }

  #execute(server: string, tool: string, args: object, timeout_ms?: number): Promise<Reply> {
    return this.#call('execute_tool', { server, tool, args, timeout_ms });
  }

  async #call(tool: string, args: Record<string, unknown>): Promise<Reply> {
    const reply = await this.#client.call(tool, args);
    const words = JSON.stringify(reply.raw).match(/word-\d+-/g) ?? [];
    expect(new Set(words).size).toBeLessThanOrEqual(1);
    if (words.length > 0) expect(words[0]).toBe(this.#word);
    return reply;
  }
}

interface Visitor {
  client: LightClient;
  /** The servers that it talks to, by their numbers. */
  servers: number[];
}

async function everyoneTalks(url: string): Promise<Visitor[]> {
  const visitors: Visitor[] = [];
  const indexes = Array.from({ length: SESSIONS }, (_, index) => index).values();
  const worker = async (): Promise<void> => {
    for (const index of indexes) {
      const client = await LightClient.open(url);
      const talker = new Talker(client, index);
      const [one, other] = [index % SERVERS, (index + 3) % SERVERS];
      await talker.talk(`s${one}`, `s${other}`);
      expect(await talker.tasks()).toBe(2);
      visitors.push({ client, servers: [one, other] });
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return visitors;
}

/** A few at a time, as each goodbye is one to every server too. */
async function leave(visitors: readonly Visitor[]): Promise<void> {
  const waiting = visitors.values();
  const worker = async (): Promise<void> => {
    for (const { client } of waiting) expect((await client.send('DELETE')).status).toBe(200);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
}

test(
  'S-1, S-4: two hundred sessions on ten servers are isolated and leave nothing behind',
  { timeout: 120_000 },
  async () => {
    const servers = await Promise.all(Array.from({ length: SERVERS }, async () => owned(await startV1Http())));
    const known = (): number[] => servers.map(({ state }) => state.sessions.size);
    const sessionsOf = (visitors: readonly Visitor[]): number[] =>
      servers.map((_, index) => (strays[index] ?? 0) + visitors.filter((each) => each.servers.includes(index)).length);
    const before = resources();
    const configs = Object.fromEntries(servers.map(({ url }, index) => [`s${index}`, { url }]));
    // Connections that nobody uses would cost more than all the rest.
    const running = await httpGateway(configs, { servers: { connect: { urls: 'lazy' } } });
    const { gateway, listener, logs } = running;

    // The first one finds out what the servers speak; they remember having been asked.
    const first = await LightClient.open(running.url);
    await first.call('list_tools', { brief: true });
    await vi.waitFor(
      () => expect(logs.filter(({ event }) => event === 'server_connected')).toHaveLength(SERVERS),
      10_000,
    );
    await first.send('DELETE');
    const strays = known();

    const visitors = await everyoneTalks(running.url);
    await vi.waitFor(() => expect(known()).toEqual(sessionsOf(visitors)), { timeout: 30_000 });

    await leave(visitors.slice(SILENT));
    expect(gateway.sessions).toHaveLength(SILENT);
    expect(listener.counts).toEqual({ sessions: SILENT, streams: 0, requests: 0 });
    expect(known()).toEqual(sessionsOf(visitors.slice(0, SILENT)));

    // The others never say goodbye; the gateway says it for them.
    await running.close();
    expect(gateway.sessions).toHaveLength(0);
    expect(listener.counts).toEqual({ sessions: 0, streams: 0, requests: 0 });
    expect(known()).toEqual(sessionsOf([]));
    await Promise.all([first, ...visitors.map(({ client }) => client)].map((client) => client.close()));
    // Not with waitFor, which has a timer of its own; and a timer of the test runner may have been among those before.
    const left = (): string[] => KINDS.filter((kind) => (resources()[kind] ?? 0) > (before[kind] ?? 0));
    for (let tries = 0; tries < 100 && left().length > 0; tries += 1) await delay(50);
    expect(left()).toEqual([]);
  },
);
