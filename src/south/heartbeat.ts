import { SignInRequired } from '../core/sign-in/required.ts';
import type { Clock } from '../lib/clock.ts';
import { METHOD_NOT_FOUND, UNSUPPORTED_VERSION } from '../lib/rpc-error.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { every } from '../lib/timers.ts';
import { toServerFailure } from './failure.ts';
import { ErrorResponse } from './peer/errors.ts';
import type { Peer } from './peer/peer.ts';
import { isBrokenWire } from './transport/broken-wire.ts';

const TIMEOUT_MS = 5000;

/** So many connections are pinged as often as the config says. */
const PINGED_OFTEN = 1000;

/** The connections of a gateway that are pinged. */
export interface PingedConnections {
  count: number;
}

export interface HeartbeatSettings {
  everyMs: number;
  /** A server that runs a call may be too busy for pings; the transport notices if it dies. */
  mayBeSilent: () => boolean;
  onGone: (failure: ServerFailure) => void;
  clock: Clock;
  pinged: PingedConnections;
}

/**
 * Pings a server periodically and on request. With very many connections, each of them is pinged only every few turns: otherwise the
 * pings would take a noticeable share of the CPU time.
 */
export class Heartbeat {
  readonly #peer: PingedPeer;
  readonly #settings: HeartbeatSettings;
  #stopTimer: (() => void) | undefined;
  #checking: Promise<void> | undefined;
  #turns: number;

  constructor(peer: PingedPeer, settings: HeartbeatSettings) {
    this.#peer = peer;
    this.#settings = settings;
    // Connections that were opened together are not all pinged in the same turn.
    this.#turns = settings.pinged.count;
    this.#stopTimer = every(settings.everyMs, () => this.#onTurn(), settings.clock);
    settings.pinged.count += 1;
  }

  stop(): void {
    if (this.#stopTimer === undefined) return;
    this.#stopTimer();
    this.#stopTimer = undefined;
    this.#settings.pinged.count -= 1;
  }

  #onTurn(): void {
    this.#turns += 1;
    if (this.#turns % Math.ceil(this.#settings.pinged.count / PINGED_OFTEN) === 0) void this.check('ping');
  }

  /** Concurrent checks share one ping. */
  async check(why: string): Promise<void> {
    this.#checking ??= this.#ping(why).finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  async #ping(why: string): Promise<void> {
    const pulse = await ping(this.#peer);
    if (pulse.kind === 'alive') return;
    if (pulse.kind === 'silent' && this.#settings.mayBeSilent()) return;
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
