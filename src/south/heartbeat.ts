import { SignInRequired } from '../core/sign-in/required.ts';
import type { Clock } from '../lib/clock.ts';
import { METHOD_NOT_FOUND, UNSUPPORTED_VERSION } from '../lib/rpc-error.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { toServerFailure } from './failure.ts';
import { ErrorResponse } from './peer/errors.ts';
import type { Peer } from './peer/peer.ts';
import { isBrokenWire } from './transport/broken-wire.ts';
import type { ServerTransport } from './transport/transport.ts';

const TIMEOUT_MS = 5000;

/** More than this is taken for large messages: a server that hangs may still send log messages, or comments that keep its stream open. */
const MUCH_BYTES = 64 * 1024;

/** More connections than this are not all pinged in the time that the config sets: their pings would take a noticeable share of the CPU time. */
const PINGS_PER_PERIOD = 1000;

/**
 * Pings the connections of a gateway one after the other, evenly spread over the period, also those that were opened
 * together. One timer serves all of them.
 */
export class PingSchedule {
  /** The next one first. */
  readonly #heartbeats = new Set<Heartbeat>();
  readonly #periodMs: number;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(periodMs: number, clock: Clock) {
    this.#periodMs = periodMs;
    this.#clock = clock;
  }

  add(heartbeat: Heartbeat): void {
    this.#heartbeats.add(heartbeat);
    if (this.#cancel === undefined) this.#arm();
  }

  delete(heartbeat: Heartbeat): void {
    this.#heartbeats.delete(heartbeat);
    if (this.#heartbeats.size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(): void {
    const ms = this.#periodMs / Math.min(this.#heartbeats.size, PINGS_PER_PERIOD);
    this.#cancel = this.#clock.after(ms, () => this.#pingNext(), { unref: true });
  }

  #pingNext(): void {
    const [next] = this.#heartbeats;
    if (next === undefined) return;
    this.#heartbeats.delete(next);
    this.#heartbeats.add(next);
    this.#arm();
    void next.check('ping');
  }
}

export interface HeartbeatSettings {
  /** A server that runs a call may be too busy for pings; the transport notices if it dies. */
  mayBeSilent: () => boolean;
  transport: Pick<ServerTransport, 'isBehind' | 'received'>;
  onGone: (failure: ServerFailure) => void;
  schedule: PingSchedule;
}

/** Pings a server periodically and on request. */
export class Heartbeat {
  readonly #peer: PingedPeer;
  readonly #settings: HeartbeatSettings;
  #checking: Promise<void> | undefined;

  constructor(peer: PingedPeer, settings: HeartbeatSettings) {
    this.#peer = peer;
    this.#settings = settings;
    settings.schedule.add(this);
  }

  stop(): void {
    this.#settings.schedule.delete(this);
  }

  /** Concurrent checks share one ping. */
  async check(why: string): Promise<void> {
    this.#checking ??= this.#ping(why).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  async #ping(why: string): Promise<void> {
    const { transport, mayBeSilent } = this.#settings;
    const { isBehind: wasBehind, received = 0 } = transport;
    const pulse = await ping(this.#peer);
    if (pulse.kind === 'alive') return;
    // The answer may be behind large messages, which take time to arrive and to be parsed.
    const { isBehind, received: receivedNow = 0 } = transport;
    const mayBeLate = wasBehind || isBehind || receivedNow - received > MUCH_BYTES;
    if (pulse.kind === 'silent' && (mayBeLate || mayBeSilent())) return;
    const { failure, message } = pulse.why;
    this.#settings.onGone(new ServerFailure(failure, `no answer to a ping (${why}): ${message}`));
  }
}

export type PingedPeer = Pick<Peer, 'request' | 'isModern'>;

/** `silent`: the server may be dead, or too busy to answer. `gone`: no server, or another one, is there. */
type Pulse = { kind: 'alive' } | { kind: 'silent' | 'gone'; why: ServerFailure };

/** Checks whether a server is alive. */
async function ping(peer: PingedPeer): Promise<Pulse> {
  const first = await pingOnce(peer);
  // Once more: the first ping may have used a kept-alive socket that broke together with the failed request.
  return first.kind === 'gone' && first.brokenWire ? pingOnce(peer) : first;
}

async function pingOnce(peer: PingedPeer): Promise<Pulse & { brokenWire?: boolean }> {
  const method = peer.isModern ? 'server/discover' : 'ping';
  try {
    await peer.request(method, undefined, { timeoutMs: TIMEOUT_MS });
    return { kind: 'alive' };
  } catch (error) {
    if (isAnswer(error, method)) return { kind: 'alive' };
    const why = toServerFailure(error);
    if (why.failure === 'timeout') return { kind: 'silent', why };
    return { kind: 'gone', why, brokenWire: isBrokenWire(error) };
  }
}

/** Any response, even an error, shows that the server is alive, unless it reveals another server. */
function isAnswer(error: unknown, method: string): boolean {
  if (error instanceof SignInRequired) return true;
  if (!(error instanceof ErrorResponse) || isBrokenWire(error)) return false;
  if (error.code === UNSUPPORTED_VERSION) return false;
  return method === 'ping' || error.code !== METHOD_NOT_FOUND;
}
