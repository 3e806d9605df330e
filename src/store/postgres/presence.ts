/**
 * The connection that lasts as long as the store is open: other gateways tell on it that servers have changed, and it has
 * the lock of the only gateway. Comes back by itself.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { type Log, messageOf } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import { SERVERS_CHANNEL } from './commit.ts';
import { type Database, PATIENCE_MS, RETRY_MS } from './database.ts';
import type { Client } from './driver.ts';

const RETURN_MS = 1000;

/** "Mnwl" in ASCII, as the second of two numbers: the first tells what is locked. */
const ONLY_GATEWAY_LOCK = '1, 1299085164';

export interface PresenceOptions {
  db: Database;
  log: Log;
  /** No other gateway may use the store at the same time. */
  alone: boolean;
  /** Told the id of the gateway that changed servers; nothing if something may have been missed. */
  onServersChanged: (gateway: string | undefined) => void;
  /** Asked when the connection was lost: whether no other gateway has taken over the store since. */
  isMember: () => Promise<boolean>;
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #closing = new AbortController();
  #client: Client | undefined;
  /** The database cannot be reached, for longer than a moment. */
  isAway = false;

  private constructor(options: PresenceOptions) {
    this.#options = options;
  }

  static async open(options: PresenceOptions): Promise<Presence> {
    const presence = new Presence(options);
    try {
      await presence.#connect();
      return presence;
    } catch (error) {
      await presence.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.end({ timeout: 0 });
  }

  async #connect(): Promise<void> {
    const { db, alone, onServersChanged } = this.#options;
    // A connection that is lost before it is of use fails the statements here.
    let isUsed = false;
    const client = db.connect({
      max: 1,
      onnotify: (_, gateway) => onServersChanged(gateway),
      onclose: () => {
        if (isUsed) void this.#comeBack(client);
        isUsed = false;
      },
    });
    this.#client = client;
    try {
      await client.unsafe(`LISTEN ${SERVERS_CHANNEL}`);
      if (alone) await this.#lock(client);
      isUsed = true;
    } catch (error) {
      void client.end({ timeout: 0 });
      throw error;
    }
  }

  async #lock(client: Client): Promise<void> {
    // The server must notice soon that a gateway is gone whose machine has lost its power.
    await client.unsafe('SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3');
    // A program that was just stopped may need a moment to let go.
    for (const begun = Date.now(); ; await delay(RETRY_MS)) {
      const [row] = await client.unsafe(`SELECT pg_try_advisory_lock(${ONLY_GATEWAY_LOCK}) AS locked`);
      if (row?.['locked'] === true) return;
      if (Date.now() - begun > PATIENCE_MS) throw inUse(this.#options.db.name);
    }
  }

  async #comeBack(lost: Client): Promise<void> {
    void lost.end({ timeout: 0 });
    const { log, db, onServersChanged, isMember } = this.#options;
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await delay(attempt === 1 ? RETRY_MS : RETURN_MS, undefined, { signal });
        // Before the lock, which the other gateway may have, or have had.
        if (!(await isMember())) return;
        await this.#connect();
        if (attempt > 1) log.info('store_reachable', { path: db.name });
        this.isAway = false;
        onServersChanged(undefined);
        return;
      } catch (error) {
        if (attempt === 2) log.warn('store_unreachable', { path: db.name, error: messageOf(error) });
        this.isAway = attempt > 1 && !signal.aborted;
      }
    }
  }
}

function inUse(store: string): StoreError {
  return new StoreError(
    'STORE_IN_USE',
    `${store}: another meanwhile is using this store; stop it, or give this one another \`store\``,
  );
}
