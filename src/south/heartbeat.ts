import type { Client } from '@modelcontextprotocol/client';
import { ServerFailure } from '../lib/server-failure.ts';
import { ping } from './ping.ts';

export interface HeartbeatSettings {
  everyMs: number;
  /** A server that runs a call may be too busy for pings. If it dies, the transport notices. */
  mayBeSilent: () => boolean;
  onGone: (failure: ServerFailure) => void;
}

/** Pings a server from time to time, and on request. */
export class Heartbeat {
  readonly #client: Client;
  readonly #settings: HeartbeatSettings;
  readonly #timer: NodeJS.Timeout;
  #checking: Promise<void> | undefined;

  constructor(client: Client, settings: HeartbeatSettings) {
    this.#client = client;
    this.#settings = settings;
    this.#timer = setInterval(() => void this.check('ping'), settings.everyMs);
    this.#timer.unref();
  }

  /** Concurrent checks share one ping. */
  async check(why: string): Promise<void> {
    this.#checking ??= this.#ping(why).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ping(why: string): Promise<void> {
    const pulse = await ping(this.#client);
    if (pulse.kind === 'alive') return;
    if (pulse.kind === 'silent' && this.#settings.mayBeSilent()) return;
    const { failure, message } = pulse.why;
    this.#settings.onGone(new ServerFailure(failure, `no answer to a ping (${why}): ${message}`));
  }
}
