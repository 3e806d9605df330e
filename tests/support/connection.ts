/** A connection of the gateway to a server, outside of any session. The test owns it. */
import type { ConnectionSink } from '../../src/core/ports/connection.ts';
import { createLog } from '../../src/lib/log.ts';
import { createBackends } from '../../src/south/backends.ts';
import { owned } from './owned.ts';
import { TestClock } from './test-clock.ts';

export const FIRST_MS = 1000;
export const ATTEMPTS = 3;
const TRAITS = { principal: 'local', addedBy: 'client' as const, roots: false, preferences: { uris: [] } };

/** A connection whose time the test moves. */
export function connectTo(url: string) {
  const clock = new TestClock();
  const told: string[] = [];
  const sink: ConnectionSink = {
    connected: (arrival) => void told.push(arrival),
    lost: () => void told.push('lost'),
    notification: () => {},
    log: () => {},
    question: async () => Promise.reject(new Error('this client answers no questions')),
  };
  const settings = {
    connectTimeoutMs: 10_000,
    pingMs: 30_000,
    pollTimeoutMs: 5000,
    messageBytes: 1_000_000,
    reconnect: { firstMs: FIRST_MS, factor: 2, maxMs: 60_000, attempts: ATTEMPTS, stableMs: 10_000 },
    clock,
  };
  const connection = owned(createBackends(settings, 'any', createLog('silent')).connect('one', { url }, sink, TRAITS));
  const state = (): string => connection.status.state;
  /** How long it waits for the next attempt. */
  const waits = (): number => (connection.status.state === 'waiting' ? connection.status.retryAt - clock.now() : -1);
  return { connection, clock, told, state, waits };
}
