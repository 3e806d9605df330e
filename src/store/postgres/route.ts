/** Selects the host, and TLS or plaintext, for connections to the database. */

import type { Socket } from 'node:net';
import { type DatabaseAddress, type Host, shown } from './address.ts';
import { openSocket, withCode } from './socket.ts';
import { isWeak } from './tls-settings.ts';
import { contextOf, offersTls, secure } from './tls.ts';

/** How long a host may take for a connection with TLS; and then for the rest. */
export const CONNECT_SECONDS = 5;

export interface ConnectAttempt {
  /** The server has refused the first choice of `sslmode`: TLS for `prefer`, plaintext for `allow`. */
  isSecond: boolean;
  signal: AbortSignal;
}

export class HostRoute {
  readonly #address: DatabaseAddress;
  #at = 0;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  get hosts(): number {
    return this.#address.hosts.length;
  }

  /** The last working host. */
  get host(): Host {
    const { hosts } = this.#address;
    return hosts[this.#at] ?? hosts[0];
  }

  /** Switches to the next host, unless that was already done. */
  leave(host: Host): void {
    if (host === this.host) this.#at = (this.#at + 1) % this.hosts;
  }

  get prefersTls(): boolean {
    return this.#address.tls.mode === 'prefer';
  }

  /** Whether there is a choice between TLS and no TLS. */
  get hasSecond(): boolean {
    return (this.prefersTls || this.#address.tls.mode === 'allow') && this.host.path === undefined;
  }

  async open(attempt: ConnectAttempt): Promise<Socket> {
    for (let left = this.hosts; ; left -= 1) {
      const { host } = this;
      try {
        // The driver names them in messages.
        return Object.assign(await this.#reach(host, attempt), { host: host.host, port: host.port });
      } catch (error) {
        this.leave(host);
        if (left === 1 || attempt.signal.aborted) throw error;
      }
    }
  }

  async #reach(host: Host, { isSecond, signal }: ConnectAttempt): Promise<Socket> {
    const { tls } = this.#address;
    const limits = { signal, timeoutMs: CONNECT_SECONDS * 1000 };
    const plainly = async (): Promise<Socket> => openSocket(host, limits, async (socket) => socket);
    const beginsPlain = tls.mode === 'disable' || tls.mode === 'allow';
    if (host.path !== undefined || (isSecond ? tls.mode === 'prefer' : beginsPlain)) return plainly();
    const context = await contextOf(tls);
    let isOffered = tls.isDirect;
    try {
      return await openSocket(host, limits, async (socket) => {
        isOffered ||= await offersTls(socket);
        if (isOffered) return secure(socket, host, tls, context);
        if (isWeak(tls.mode)) return socket;
        throw withCode('TLS_NOT_OFFERED', `${shown(host)} does not offer TLS, which sslmode=${tls.mode} requires`);
      });
    } catch (error) {
      if (isOffered && tls.mode === 'prefer') return plainly();
      throw error;
    }
  }
}
