/** Serves the sign-in pages on a free local port, for a gateway that does not listen over HTTP. Listens only while a sign-in waits. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Gateway } from '../../core/gateway.ts';
import type { Accounts, SignIn } from '../../core/ports/accounts.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/log.ts';
import { SIGN_IN_START_PATH } from '../../lib/sign-in-paths.ts';
import { Guard } from '../http/guard.ts';
import { SignInPages } from './sign-in-pages.ts';

export interface LoopbackParts {
  gateway: Pick<Gateway, 'store' | 'log'>;
  accounts: Accounts;
  clock: Clock;
}

/** Closes a port for which no link was created. Normally the first link follows at once. */
const UNUSED_MS = 60_000;

export class LoopbackPages {
  readonly #parts: LoopbackParts;
  /** Ends the wait for each sign-in. */
  readonly #waiting = new Map<string, () => void>();
  #opening: Promise<{ server: Server; base: string }> | undefined;
  #stopTimer = (): void => {};
  #closed = false;

  constructor(parts: LoopbackParts) {
    this.#parts = parts;
  }

  /** Returns the base URL of the pages; opens the port if necessary. */
  async base(): Promise<string> {
    if (this.#closed) throw new Error('the gateway is shutting down');
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return (await this.#opening).base;
  }

  /** The page on which the person starts. The port stays open until the sign-in is over. */
  async linkTo({ id, principal, server, expiresAt }: SignIn): Promise<string> {
    const base = await this.base();
    if (!this.#waiting.has(id)) {
      const { accounts, clock } = this.#parts;
      const end = (): void => {
        stopWatching();
        stopTimer();
        this.#waiting.delete(id);
        if (this.#waiting.size === 0) this.#close();
      };
      const stopWatching = accounts.watch((who, where) => {
        if (where === server && (who === principal || who === '*')) end();
      });
      const stopTimer = clock.after(expiresAt - clock.now(), end, { unref: true });
      this.#waiting.set(id, end);
      this.#stopTimer();
    }
    return `${base}${SIGN_IN_START_PATH}${id}`;
  }

  close(): void {
    this.#closed = true;
    for (const end of this.#waiting.values()) end();
    this.#close();
  }

  async #open(): Promise<{ server: Server; base: string }> {
    const { gateway, accounts, clock } = this.#parts;
    let base = '';
    const settings = { host: '127.0.0.1', auth: { tokens: {} }, allowedHosts: [], allowedOrigins: [] };
    const guard = new Guard(settings, () => base);
    const pages = new SignInPages({ gateway, accounts, guard, base: () => base });
    const server = createServer((req, res) => {
      // Otherwise a browser could keep the port open.
      res.setHeader('connection', 'close');
      const [path = '/'] = (req.url ?? '/').split('?');
      pages.handle(req, res, path).catch((error: unknown) => {
        gateway.log.error('sign_in_page_failed', { error: messageOf(error) });
        res.destroy();
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    // The client on standard input decides how long the program runs.
    server.unref();
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#stopTimer = clock.after(UNUSED_MS, () => this.#close(), { unref: true });
    return { server, base };
  }

  /** Lets open responses finish. */
  #close(): void {
    this.#stopTimer();
    const opening = this.#opening;
    this.#opening = undefined;
    void opening?.then(
      ({ server }) => {
        server.close();
        server.closeIdleConnections();
      },
      () => {},
    );
  }
}
