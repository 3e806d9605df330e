/** The servers that the suite is sent to: the backends alone, and each of them behind the gateway. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import { createLog } from '../../src/lib/log.ts';
import { loadConfig, startHttp, type HttpGateway } from '../../src/main.ts';
import { startLegacyHttp } from '../servers/conformance-legacy-http.ts';
import { startModernHttp } from '../servers/conformance-modern-http.ts';
import { PostgresServer } from '../postgres/server.ts';
import { startBalancer } from '../support/balancer.ts';
import { conformanceStdio } from '../support/servers.ts';
import type { Era } from './server-sets.ts';

export type Transport = 'http' | 'stdio';

export interface Target {
  era: Era;
  transport: Transport | 'group';
  /** The endpoint of the gateway for it: the direct one, or that of a group of which it is the only server. */
  url: string;
}

export interface Targets {
  /** The URL of the backend itself. */
  alone: Record<Era, string>;
  behind: Target[];
  close(): Promise<void>;
}

const ERAS: readonly Era[] = ['legacy', 'modern'];
const TRANSPORTS: readonly Transport[] = ['http', 'stdio'];

/**
 * Short enough for a tool of the suite that asks, and works for a second after that, to become a task; long enough for a
 * fast one not to become one on a busy machine.
 */
const SETTINGS = {
  direct: { taskAfterMs: 700 },
  // The suite knows the tools of its server by their own names.
  groups: Object.fromEntries(ERAS.map((era) => [`${era}-group`, { servers: [`${era}-http`], prefix: false }])),
};

/** With several gateways, all requests of the suite go to one after the other. */
export async function openTargets(gateways = 1): Promise<Targets> {
  const backends = { legacy: await startLegacyHttp(), modern: await startModernHttp() };
  const alone = { legacy: backends.legacy.url, modern: backends.modern.url };
  const pairs = ERAS.flatMap((era) => TRANSPORTS.map((transport) => ({ era, transport })));
  const servers = pairs.map(({ era, transport }): [string, ServerConfig] => [
    `${era}-${transport}`,
    transport === 'http' ? { url: alone[era] } : conformanceStdio(era),
  ]);
  const closeBackends = async (): Promise<void> => {
    await Promise.all([backends.legacy.close(), backends.modern.close()]);
  };
  const start = gateways === 1 ? startGateway : startCluster(gateways);
  const gateway = await start(Object.fromEntries(servers)).catch(async (error: unknown) => {
    await closeBackends();
    throw error;
  });
  return {
    alone,
    behind: [...pairs, ...ERAS.map((era) => ({ era, transport: 'group' as const }))].map((each) => ({
      ...each,
      url: `${gateway.url}/${each.era}-${each.transport}`,
    })),
    async close() {
      await gateway.close();
      await closeBackends();
    },
  };
}

type Endpoint = Pick<HttpGateway, 'url' | 'close'>;

/** On one database, behind a balancer that knows nothing of sessions. */
function startCluster(count: number): (mcpServers: Record<string, ServerConfig>) => Promise<Endpoint> {
  return async (mcpServers) => {
    const closing: (() => Promise<unknown>)[] = [];
    const close = async (): Promise<void> => {
      for (const each of closing.splice(0).toReversed()) await each();
    };
    try {
      const postgres = await PostgresServer.start();
      closing.push(() => postgres.remove());
      const origins: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const gateway = await startGateway(mcpServers, postgres.url());
        closing.push(() => gateway.close());
        origins.push(new URL(gateway.url).origin);
      }
      const balancer = await startBalancer(origins);
      closing.push(() => balancer.close());
      return { url: `${balancer.origin}/mcp`, close };
    } catch (error) {
      await close();
      throw error;
    }
  };
}

/** Nothing of the machine's own configuration gets in. */
async function startGateway(mcpServers: Record<string, ServerConfig>, store = ':memory:'): Promise<HttpGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-conformance-'));
  try {
    const file = join(folder, 'meanwhile.json');
    await writeFile(file, JSON.stringify({ mcpServers, meanwhile: { port: 0, store, ...SETTINGS } }));
    const config = await loadConfig({ flags: { config: file }, env: {}, cwd: folder });
    return await startHttp(config, createLog('silent'));
  } finally {
    await rm(folder, { recursive: true });
  }
}
