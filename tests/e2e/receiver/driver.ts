/** A gateway with a client on one side, and on the other a server that asks with tasks; the test holds both ends. */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, vi } from 'vitest';
import type { ServerTask } from '../../../src/core/ports/connection.ts';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import type { Driven, Json, Order, Report } from '../../servers/receiver-driver.ts';
import { startReceiverDriverHttp } from '../../servers/receiver-driver-http.ts';
import { nameForm } from '../../servers/shared/forms.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient, type PendingElicitation, type PendingSampling } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { bundlePath } from '../../support/servers.ts';

export const WAYS = ['http', 'stdio'] as const;

export type Way = (typeof WAYS)[number];

export interface Driver {
  config: ServerConfig;
  /** The clients that came, in this order. */
  clients: Driven[];
  /** The server ends, and comes back without a memory when it is called again. */
  restart: () => Promise<void>;
}

export interface HttpDriver extends Driver {
  /** The connections break; the server remembers its clients. */
  breakStreams: () => void;
  /** It cannot be reached until the returned function is called; it remembers its clients. */
  outOfReach: () => Promise<() => Promise<void>>;
}

export interface Scene {
  hub: HubClient;
  driven: Driven;
  driver: Driver;
  url: string;
  gateway: TestGateway;
}

export async function scene(way: Way, settings: SettingsInput = {}): Promise<Scene> {
  const driver = await (way === 'http' ? overHttp() : overStdio());
  return stage(driver, settings);
}

export async function stage<D extends Driver>(driver: D, settings: SettingsInput = {}): Promise<Scene & { driver: D }> {
  // The server asks by itself, before anybody uses it.
  const servers = { connect: { commands: 'eager' }, ...(settings['servers'] as object) };
  const gateway = await httpGateway({ one: driver.config }, { ...settings, servers });
  const { url } = gateway;
  return { ...(await join(url, driver)), driver, url, gateway };
}

/** One more client of the gateway, and the server's hand on it. */
export async function join(url: string, { clients }: Driver): Promise<{ hub: HubClient; driven: Driven }> {
  const before = clients.length;
  const hub = await hubOverHttp(url);
  const driven = await nextClient(clients, before);
  // What a server asks outside of calls shows only to a client that uses the server.
  await hub.call('list_tools', { server: 'one' });
  return { hub, driven };
}

export async function nextClient(clients: Driven[], before: number): Promise<Driven> {
  await expect.poll(() => clients.length).toBeGreaterThan(before);
  const driven = clients[before];
  if (driven === undefined) throw new Error('no client came');
  await driven.reached();
  return driven;
}

export async function overHttp(): Promise<HttpDriver> {
  const clients: Driven[] = [];
  const server = owned(await startReceiverDriverHttp((driven) => void clients.push(driven)));
  return {
    config: { url: server.url },
    clients,
    breakStreams: () => server.breakStreams(),
    outOfReach: () => server.outOfReach(),
    restart: async () => {
      await server.dropSessions();
      server.breakStreams();
    },
  };
}

async function overStdio(): Promise<Driver> {
  const clients: Driven[] = [];
  const sockets: Socket[] = [];
  const control = createServer((socket) => {
    sockets.push(socket);
    clients.push(remote(socket));
  });
  await new Promise<void>((resolve) => void control.listen(0, '127.0.0.1', resolve));
  // A program whose control is gone ends itself.
  const restart = async (): Promise<void> => {
    for (const socket of sockets.splice(0)) socket.destroy();
  };
  defer(async () => {
    await restart();
    await new Promise((resolve) => void control.close(resolve));
  });
  const { port } = control.address() as AddressInfo;
  return {
    config: {
      command: process.execPath,
      args: [bundlePath('receiver-driver-stdio')],
      env: { TEST_CONTROL: String(port) },
    },
    clients,
    restart,
  };
}

/** A `Driven` in another process. */
function remote(socket: Socket): Driven {
  const waiting = new Map<number, (report: Report) => void>();
  let last = 0;
  createInterface({ input: socket }).on('line', (line) => {
    const report = JSON.parse(line) as Report;
    waiting.get(report.id)?.(report);
    waiting.delete(report.id);
  });
  const order =
    <K extends keyof Driven>(name: K) =>
    (...args: Parameters<Driven[K]>): ReturnType<Driven[K]> => {
      const done = new Promise<unknown>((resolve, reject) => {
        last += 1;
        waiting.set(last, (report) => {
          if ('error' in report) reject(Object.assign(new Error(report.error.message), report.error));
          else resolve(report.value);
        });
        socket.write(`${JSON.stringify({ id: last, name, args } satisfies Order)}\n`);
      });
      return done as ReturnType<Driven[K]>;
    };
  return {
    reached: order('reached'),
    capabilities: order('capabilities'),
    request: order('request'),
    takeBack: order('takeBack'),
    elicit: order('elicit'),
    sample: order('sample'),
    heard: order('heard'),
  };
}

export const PATIENCE = { timeout: 10_000, interval: 20 };

/** The one question that waits for the client's answer. */
export async function elicitation(hub: HubClient): Promise<PendingElicitation> {
  return vi.waitFor(async () => {
    const [question, ...others] = await elicitations(hub);
    if (question === undefined || others.length > 0) throw new Error('not one question waits');
    return question;
  }, PATIENCE);
}

export async function elicitations(hub: HubClient): Promise<PendingElicitation[]> {
  return (await hub.call('get_elicitations')).body['elicitations'] as PendingElicitation[];
}

export async function sampling(hub: HubClient): Promise<PendingSampling> {
  return vi.waitFor(async () => {
    const waiting = (await hub.call('get_sampling_requests')).body['sampling_requests'] as PendingSampling[];
    const [question, ...others] = waiting;
    if (question === undefined || others.length > 0) throw new Error('not one question waits');
    return question;
  }, PATIENCE);
}

export async function accept(hub: HubClient, { requestId }: { requestId: string }, name: string): Promise<void> {
  const reply = await hub.call('respond_to_elicitation', {
    request_id: requestId,
    action: 'accept',
    content: { name },
  });
  expect(reply.body).toMatchObject({ success: true });
}

export const RELATED = 'io.modelcontextprotocol/related-task';

/** The server asks, with a task of a minute unless told otherwise. */
export async function create(
  driven: Driven,
  params: Json = { ...nameForm(), task: { ttl: 60_000 } },
  method = 'elicitation/create',
): Promise<ServerTask> {
  return (await driven.request(method, params))['task'] as ServerTask;
}

export async function status(driven: Driven, taskId: string): Promise<unknown> {
  return (await driven.request('tasks/get', { taskId }))['status'];
}

/** What the server was told of the task, in this order. */
export async function statuses(driven: Driven, taskId: string): Promise<unknown[]> {
  const told = (await driven.heard()) as { method: string; params: Json }[];
  return told
    .filter(({ method, params }) => method === 'notifications/tasks/status' && params['taskId'] === taskId)
    .map(({ params }) => params['status']);
}
