/** The long-lived connection for notices of other gateways. Reconnects automatically. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Log, messageOf } from '../../lib/log.ts';
import { within } from '../../lib/timers.ts';
import { ACCOUNTS_CHANNEL, HISTORY_CHANNEL, SERVERS_CHANNEL, WORK_CHANNEL } from './channels.ts';
import { type Database, RETRY_MS } from './database.ts';
import type { PostgresClient } from './driver.ts';

const RETURN_MS = 1000;
/** A connection without an answer in this time counts as hung. */
const ANSWER_MS = 3000;

const CHANNELS = [SERVERS_CHANNEL, WORK_CHANNEL, HISTORY_CHANNEL, ACCOUNTS_CHANNEL];

export interface ChannelListenerOptions {
  db: Database;
  log: Log;
  /** Called with the id of the gateway that changed servers; `undefined` if a notice may have been missed. */
  onServersChanged: (gateway: string | undefined) => void;
  /** Called with the id of the gateway that left work; `undefined` if a notice may have been missed. */
  onWorkLeft: (gateway: string | undefined) => void;
  /** Called with the id of the gateway that wrote to the history; `undefined` if a notice may have been missed. */
  onHistory: (gateway: string | undefined) => void;
  /** Called with the tokens that a gateway changed; `undefined` if a notice may have been missed. */
  onAccounts: (notice: string | undefined) => void;
}

export class ChannelListener {
  readonly #options: ChannelListenerOptions;
  readonly #closing = new AbortController();
  #client: PostgresClient | undefined;
  /** The database has been unreachable for a while. */
  isAway = false;

  private constructor(options: ChannelListenerOptions) {
    this.#options = options;
  }

  static async open(options: ChannelListenerOptions): Promise<ChannelListener> {
    const listener = new ChannelListener(options);
    try {
      await listener.#connect();
      return listener;
    } catch (error) {
      await listener.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.end({ timeout: 0 });
  }

  async #connect(): Promise<void> {
    const { db } = this.#options;
    // If the connection is lost before its first use, the statements below fail.
    let isUsed = false;
    const client = db.connect({
      max: 1,
      onnotify: (channel, gateway) => this.#told(channel, gateway),
      onclose: () => {
        if (isUsed) void this.#reconnect(client);
        isUsed = false;
      },
    });
    this.#client = client;
    try {
      if (!(await within(ANSWER_MS, listen(client)))) throw new Error(`no answer within ${ANSWER_MS / 1000} seconds`);
      isUsed = true;
    } catch (error) {
      void client.end({ timeout: 0 });
      throw error;
    }
  }

  #told(channel: string, gateway: string | undefined): void {
    const { onServersChanged, onWorkLeft, onHistory, onAccounts } = this.#options;
    if (channel === SERVERS_CHANNEL) onServersChanged(gateway);
    else if (channel === WORK_CHANNEL) onWorkLeft(gateway);
    else if (channel === HISTORY_CHANNEL) onHistory(gateway);
    else onAccounts(gateway);
  }

  async #reconnect(lost: PostgresClient): Promise<void> {
    void lost.end({ timeout: 0 });
    const { log, db } = this.#options;
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await delay(attempt === 1 ? RETRY_MS : RETURN_MS, undefined, { signal });
        await this.#connect();
        if (attempt > 1) log.info('store_reachable', { path: db.name });
        this.isAway = false;
        for (const channel of CHANNELS) this.#told(channel, undefined);
        return;
      } catch (error) {
        if (attempt === 2) log.warn('store_unreachable', { path: db.name, error: messageOf(error) });
        this.isAway = attempt > 1 && !signal.aborted;
      }
    }
  }
}

async function listen(client: PostgresClient): Promise<true> {
  for (const channel of CHANNELS) await client.unsafe(`LISTEN ${channel}`);
  return true;
}
