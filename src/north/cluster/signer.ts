import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Identity } from '../../core/ports/identity.ts';
import type { Clock } from '../../lib/clock.ts';
import { assertFresh, forwardedHeader, readForwarded, USE_MS, type Forwarded } from './forwarded-header.ts';
import type { ForwardStore } from './owners.ts';

/** The parts of a request that its header depends on. */
type Signable = Pick<IncomingMessage, 'method' | 'url' | 'socket'>;

/** What is forwarded, and to whom. */
export interface Forwarding extends Identity {
  key: string;
  recipient: string;
}

/** The cached header of a client's last request, which usually also fits the next one: signing is slow. */
interface Signed extends Forwarding {
  method: string | undefined;
  path: string | undefined;
  header: string;
  until: number;
}

const CONNECTION = Symbol('connection');

interface Connected extends Socket {
  [CONNECTION]?: { number: number; signed: Signed | undefined };
}

/** Signs the requests that this gateway forwards. */
export class Signer {
  readonly #store: ForwardStore;
  readonly #clock: Clock;
  /** The number of client connections so far. */
  #connections = 0;

  constructor(store: ForwardStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  headerFor({ method = '', url: path = '', socket }: Signable, forwarding: Forwarding): string {
    const connection = this.#connectionOf(socket);
    const now = this.#clock.now();
    const { signed } = connection;
    if (signed?.method === method && signed.path === path && signed.until > now && isSame(signed, forwarding)) {
      return signed.header;
    }
    const { gatewayId: sender, key } = this.#store;
    const fields = { ...forwarding, sender, connection: connection.number };
    const header = forwardedHeader(key, { method, path }, fields, now);
    connection.signed = { ...forwarding, method, path, header, until: now + USE_MS };
    return header;
  }

  #connectionOf(socket: Connected): NonNullable<Connected[typeof CONNECTION]> {
    const known = socket[CONNECTION];
    if (known !== undefined) return known;
    this.#connections += 1;
    return (socket[CONNECTION] = { number: this.#connections, signed: undefined });
  }
}

function isSame(signed: Forwarding, { principal, facts, key, recipient }: Forwarding): boolean {
  return (
    signed.key === key &&
    signed.recipient === recipient &&
    signed.principal === principal &&
    // The same token has the same object.
    signed.facts === facts
  );
}

/** Beyond this, the cache is cleared. */
const MAX_KNOWN = 10_000;

/** Reads the headers of requests that other gateways forward. */
export class Verifier {
  /** By method, path and header. */
  readonly #known = new Map<string, Forwarded & { at: number }>();
  readonly #store: ForwardStore;
  readonly #clock: Clock;

  constructor(store: ForwardStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The content of the header; throws if it is not valid. */
  read({ method = '', url: path = '' }: Pick<Signable, 'method' | 'url'>, header: string): Forwarded {
    const whole = `${method} ${path} ${header}`;
    const known = this.#known.get(whole);
    const forwarded = known ?? readForwarded(this.#store.key, { method, path }, header);
    assertFresh(forwarded, this.#clock.now());
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(whole, forwarded);
    return forwarded;
  }
}
