/** Several gateways on one PostgreSQL. Each reaches it through a proxy of its own, which can cut it off. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import type { Target } from '../crash/client.ts';
import { KillableGateway } from '../crash/gateway.ts';
import { PostgresServer } from '../postgres/server.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

export interface ClusterOptions {
  gateways: number;
  folder: string;
  servers: Record<string, ServerConfig>;
  settings: Record<string, unknown>;
  /** Its path; by default that of the built program. */
  program?: string | undefined;
}

export interface Member {
  name: string;
  gateway: KillableGateway;
  proxy: TcpProxy;
  /** Clients are sent to it. */
  isInRotation: boolean;
}

const START_ATTEMPTS = 60;
const START_AGAIN_MS = 500;

export class Cluster {
  readonly members: readonly Member[];
  readonly postgres: PostgresServer;
  #whenUp: (() => void)[] = [];

  private constructor(members: Member[], postgres: PostgresServer) {
    this.members = members;
    this.postgres = postgres;
  }

  static async prepare({ gateways, folder, servers, settings, program }: ClusterOptions): Promise<Cluster> {
    const postgres = await PostgresServer.start();
    const members: Member[] = [];
    for (let index = 1; index <= gateways; index += 1) {
      const name = `gateway-${index}`;
      const proxy = await TcpProxy.start(postgres.port);
      const own = join(folder, name);
      await mkdir(own);
      const store = postgres.url('postgres', 'ann:hunter2', proxy.port);
      const options = { folder: own, store, servers, settings, ...(program !== undefined && { program }) };
      members.push({ name, proxy, gateway: await KillableGateway.prepare(options), isInRotation: false });
    }
    return new Cluster(members, postgres);
  }

  async start(member: Member): Promise<boolean> {
    member.isInRotation = await this.#startAtLast(member);
    if (member.isInRotation) for (const tell of this.#whenUp.splice(0)) tell();
    return member.isInRotation;
  }

  /** One that cannot reach its database ends, and is started again, as by any supervisor. */
  async #startAtLast({ gateway }: Member): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await gateway.start();
      } catch (error) {
        if (attempt === START_ATTEMPTS || !String(error).includes('the store cannot be opened')) throw error;
        await delay(START_AGAIN_MS);
      }
    }
  }

  async startAll(): Promise<void> {
    await Promise.all(this.members.map((member) => this.start(member)));
  }

  /** Another gateway for each request, in turn. */
  inTurn(path = ''): Target {
    let turn = 0;
    const next = (): string => {
      const candidates = this.members.filter(({ isInRotation }) => isInRotation);
      turn += 1;
      const { gateway } = candidates[turn % candidates.length] ?? this.#member(turn % this.members.length);
      return `${gateway.url}${path}`;
    };
    return {
      get url() {
        return next();
      },
    };
  }

  /** Resolves once there is a gateway to talk to. */
  async up(): Promise<void> {
    if (this.members.some(({ isInRotation }) => isInRotation)) return;
    await new Promise<void>((resolve) => {
      this.#whenUp.push(resolve);
    });
  }

  log(): string[] {
    return this.members.flatMap(({ name, gateway }) => gateway.log.map((line) => `${name} ${line}`));
  }

  /** When a gateway found that its lease had lapsed. */
  lapses(): number[] {
    const times = this.log().map((line) => /"lease_lapsed","timestamp":"([^"]+)"/.exec(line)?.[1]);
    return times.filter((time) => time !== undefined).map((time) => Date.parse(time));
  }

  /** Asks all to stop; their exit codes. */
  async stop(): Promise<(number | null)[]> {
    for (const member of this.members) {
      member.isInRotation = false;
      member.gateway.resume();
    }
    return Promise.all(this.members.map(({ gateway }) => gateway.stop()));
  }

  async close(): Promise<void> {
    await this.stop();
    await Promise.all(this.members.map(({ proxy }) => proxy.close()));
    await this.postgres.remove();
  }

  #member(index: number): Member {
    const member = this.members[index];
    if (member === undefined) throw new Error(`there is no gateway ${index}`);
    return member;
  }
}
