/** Gateways on one PostgreSQL, each behind a proxy that counts what it says to the database. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import { PostgresServer } from '../../tests/postgres/server.ts';
import { TcpProxy } from '../../tests/support/tcp-proxy.ts';
import { Child, PROGRAM, type Usage } from '../child.ts';

export interface GatewayOptions {
  servers: Record<string, ServerConfig>;
  settings?: Record<string, unknown>;
  database?: string;
}

export interface MeasuredGateway {
  child: Child;
  /** Its address, with the path of the hub. */
  url: string;
  proxy: TcpProxy;
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export class Gateways {
  readonly postgres: PostgresServer;
  readonly #folder: string;
  readonly #running = new Set<MeasuredGateway>();
  #started = 0;

  private constructor(postgres: PostgresServer, folder: string) {
    this.postgres = postgres;
    this.#folder = folder;
  }

  static async open(folder: string): Promise<Gateways> {
    return new Gateways(await PostgresServer.start({ durable: true }), folder);
  }

  async start({ servers, settings = {}, database = 'postgres' }: GatewayOptions): Promise<MeasuredGateway> {
    this.#started += 1;
    const proxy = await TcpProxy.start(this.postgres.port);
    const config = join(this.#folder, `cluster-${this.#started}.json`);
    const store = this.postgres.url(database, undefined, proxy.port);
    await writeFile(config, JSON.stringify({ mcpServers: servers, meanwhile: { port: 0, store, ...settings } }));
    const child = new Child([PROGRAM, 'serve', '--config', config], { execArgv: ['--expose-gc'] });
    const gateway: MeasuredGateway = {
      child,
      url: await child.url,
      proxy,
      stop: async (signal) => {
        this.#running.delete(gateway);
        await child.stop(signal);
        await proxy.close();
      },
    };
    this.#running.add(gateway);
    return gateway;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((gateway) => gateway.stop()));
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.postgres.remove();
  }
}

/** What several of them use together. */
export function together(gateways: readonly MeasuredGateway[]): Pick<Child, 'usage'> {
  return {
    usage: async (): Promise<Usage> => {
      const all = await Promise.all(gateways.map(({ child }) => child.usage()));
      const sum = (key: keyof Usage): number => all.reduce((total, usage) => total + usage[key], 0);
      return { cpuMs: sum('cpuMs'), rssBytes: sum('rssBytes') };
    },
  };
}
