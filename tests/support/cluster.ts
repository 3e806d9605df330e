/** Gateways of a cluster as far as they forward requests: real HTTP servers around the parts that do it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Neighbours } from '../../src/core/cluster/neighbours.ts';
import type { ForwardOutcome, Observer } from '../../src/core/observer.ts';
import type { GatewayAddress } from '../../src/core/ports/cluster-store.ts';
import { createLog } from '../../src/lib/log.ts';
import { joinCluster, type Cluster } from '../../src/north/cluster/cluster.ts';
import type { ForwardStore } from '../../src/north/cluster/owners.ts';
import { FORWARDED } from '../../src/north/http/addressed.ts';
import { readBody } from '../../src/north/http/body.ts';
import { defer } from './owned.ts';
import { TestClock } from './test-clock.ts';

export type Here = (req: IncomingMessage, res: ServerResponse, body: Buffer) => Promise<void> | void;

/** Which gateway has which session. */
export class Ownership {
  readonly owners = new Map<string, GatewayAddress>();
  /** How often somebody asked. */
  asked = 0;

  storeOf(gatewayId: string): ForwardStore {
    return {
      gatewayId,
      key: Buffer.alloc(32, 1),
      leaseMs: 10_000,
      ownerOf: async (key) => {
        this.asked += 1;
        return this.owners.get(key);
      },
      anyOther: async () => [...this.owners.values()].find(({ id }) => id !== gatewayId),
    };
  }
}

export interface TestPeer {
  id: string;
  cluster: Cluster;
  address: string;
  /** What it has logged. */
  logs: { event: string; data?: Record<string, unknown> }[];
  /** What became of the requests that it forwarded. */
  forwards: ForwardOutcome[];
  server: Server;
}

/** A gateway that answers the requests of its clients with `here`, unless another one has their session. */
export async function testPeer(
  id: string,
  ownership: Ownership,
  here: Here,
  {
    clock = new TestClock(),
    announce = async () => {},
  }: { clock?: TestClock; announce?: (address: string, neighbours: Neighbours) => Promise<void> } = {},
): Promise<TestPeer> {
  const logs: TestPeer['logs'] = [];
  const forwards: ForwardOutcome[] = [];
  const observer = { requestForwarded: (outcome: ForwardOutcome) => forwards.push(outcome) } as unknown as Observer;
  const observed = { observer };
  const log = createLog('debug', (line) => logs.push(JSON.parse(line) as TestPeer['logs'][number]));
  const answerer = async (): Promise<unknown> => Promise.reject(new Error('nothing is asked'));
  const cluster = await joinCluster({ store: ownership.storeOf(id), clock, log, observed, announce, answerer });
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (req.headers[FORWARDED] !== undefined) {
      const received = cluster.receive(req, res);
      if (received === undefined) return;
      const body = await readBody(req, 1e9);
      if (body.kind === 'complete') await here(req, res, body.bytes);
      return;
    }
    const body = req.method === 'POST' ? await readBody(req, 1e9) : undefined;
    const bytes = body?.kind === 'complete' ? body.bytes : undefined;
    const principal = String(req.headers['x-principal'] ?? 'ann');
    const incoming = { req, res, principal, hasHubTools: true, body: bytes };
    await cluster.serve(incoming, async () => here(req, res, bytes ?? Buffer.alloc(0)));
  };
  const server = createServer((req, res) => {
    res.setHeader('access-control-allow-origin', `from-${id}`);
    void handle(req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    cluster.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { id, cluster, address: `http://127.0.0.1:${port}`, logs, forwards, server };
}
