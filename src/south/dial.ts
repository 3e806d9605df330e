import type { ClientCapabilities } from '@modelcontextprotocol/client';
import type { CommandServerConfig, HttpServerConfig, ServerConfig } from '../core/ports/server-config.ts';
import { GatewayError } from '../core/errors.ts';
import { unlessAborted, type StopSignal } from '../lib/abort.ts';
import type { AddressCheck } from '../lib/addresses.ts';
import { LATEST_WITH_SESSIONS, TASKS_EXTENSION } from '../lib/protocol.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { ServerFailure } from '../lib/server-failure.ts';
import { within } from '../lib/timers.ts';
import { VERSION } from '../lib/version.ts';
import { toServerFailure } from './failure.ts';
import { ErrorResponse, noAnswerWithin } from './peer/errors.ts';
import { introduce, ProbeFailed } from './peer/introduction.ts';
import { Peer, type Introduction } from './peer/peer.ts';
import { RECEIVER_CAPABILITY } from './task-receiver.ts';
import { isBrokenWire } from './transport/broken-wire.ts';
import type { ConnectionAccount } from '../core/sign-in/connection-account.ts';
import { ChildTransport, type ChildStream } from './transport/child.ts';
import { assertAllowed } from './transport/checked-address.ts';
import { HttpTransport, type HttpTransportOptions } from './transport/http.ts';
import type { HttpHealth } from './transport/http-health.ts';
import { MessageLimits } from './transport/message-size.ts';
import { HttpRefusal } from './transport/http-refusal.ts';
import { SseTransport } from './transport/sse.ts';
import type { ServerTransport } from './transport/transport.ts';

/** How a client introduces itself, and which requests it accepts. */
export interface ClientIdentity {
  name: string;
  version: string;
  elicitation: boolean;
  sampling: boolean;
  roots?: boolean;
  /** Whether the server is shown to other clients, which need its complete initialize result. */
  shows?: boolean;
}

/** The gateway accepts every request that one of its clients may answer. */
export const GATEWAY_IDENTITY: ClientIdentity = {
  name: 'meanwhile',
  version: VERSION,
  elicitation: true,
  sampling: true,
  shows: true,
};

/** Servers may ask with tasks (legacy era only), and may answer calls with tasks. */
function capabilitiesOf({ elicitation, sampling, roots }: ClientIdentity): ClientCapabilities {
  return {
    ...(elicitation && { elicitation: { form: {}, url: {} } }),
    ...(sampling && { sampling: { tools: {} } }),
    ...(roots && { roots: { listChanged: true } }),
    tasks: {
      ...RECEIVER_CAPABILITY,
      requests: {
        ...(elicitation && { elicitation: RECEIVER_CAPABILITY.requests.elicitation }),
        ...(sampling && { sampling: RECEIVER_CAPABILITY.requests.sampling }),
      },
    },
    extensions: { [TASKS_EXTENSION]: {} },
  };
}

/** A child that ignores unknown requests would otherwise delay the connection for the whole timeout. */
const CHILD_PROBE_MS = 8000;

export interface DialHooks extends HttpHealth {
  /** Called before the connection is made: installs the handlers that must not miss a first message. */
  prepare: (peer: Peer) => void;
  onOutput: (line: string, stream: ChildStream) => void;
  /** Aborted when the connection is no longer needed. */
  unwanted: StopSignal;
  /** The account for the connection; absent if the server has none. */
  account?: ConnectionAccount | undefined;
}

export interface Dialled {
  peer: Peer;
  transport: ServerTransport;
}

export interface DialOptions {
  /** The addresses of servers that may be connected to; any if absent. */
  isAllowed?: AddressCheck | undefined;
  limits?: MessageLimits;
  clock?: Clock;
}

/**
 * Connects to servers of either era. The era of a server is remembered, so that the next connection does not probe again; if
 * it proves wrong, it is forgotten.
 */
export class Dialler {
  /** Configs of servers that are known to be of the legacy era. */
  readonly #knownOld = new Set<string>();
  readonly #timeoutMs: number;
  readonly #identity: ClientIdentity;
  readonly capabilities: ClientCapabilities;
  readonly #isAllowed: AddressCheck | undefined;
  readonly #limits: MessageLimits;
  readonly #clock: Clock;

  constructor(
    timeoutMs: number,
    identity: ClientIdentity,
    { isAllowed, limits = new MessageLimits(), clock = systemClock }: DialOptions = {},
  ) {
    this.#timeoutMs = timeoutMs;
    this.#identity = identity;
    this.capabilities = capabilitiesOf(identity);
    this.#isAllowed = isAllowed;
    this.#limits = limits;
    this.#clock = clock;
  }

  async dial(config: ServerConfig, hooks: DialHooks): Promise<Dialled> {
    const key = JSON.stringify(config);
    try {
      return await this.#dialOnce(config, hooks, key);
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      // It responded, and not like a legacy server: the next attempt probes again.
      if (hasResponded(error) || hasResponded(error.cause)) this.#knownOld.delete(key);
      if (!('command' in config) || !diedOfProbe(error)) throw error;
      // Some legacy servers exit on a request before `initialize`: they are started again without it. A server that exits
      // again has another reason, and later attempts start it only once.
      this.#knownOld.add(key);
      return this.#dialOnce(config, hooks, key);
    }
  }

  /**
   * Resumes a session; `undefined` if the server no longer knows it. A client that did not start the session does not
   * know what was negotiated, and assumes that the server has the capabilities that the session was kept for.
   */
  async resume(
    config: HttpServerConfig,
    hooks: DialHooks,
    before: Peer | undefined,
    sessionId: string,
  ): Promise<Dialled | undefined> {
    const peer = before ?? this.#newPeer(hooks);
    let resumed = false;
    const transport = await this.#http(
      config,
      // An unknown session is a valid result here, not a disconnect.
      { onLost: (reason) => resumed && hooks.onLost(reason), onDoubt: (reason) => resumed && hooks.onDoubt(reason) },
      hooks,
      { sessionId },
    );
    if (before === undefined) transport.setProtocolVersion(LATEST_WITH_SESSIONS);
    try {
      await peer.connect(transport);
      // Request ids were used before the restart.
      if (before === undefined) peer.useFreshIds();
      await this.#inTime(hooks.unwanted, peer.request('ping', undefined));
    } catch (error) {
      await transport.close();
      if (isSessionUnknown(error)) return undefined;
      throw toServerFailure(error);
    }
    resumed = true;
    if (before === undefined && this.#identity.shows) peer.introduction = await this.#greeting(config, hooks);
    transport.openStandingStream();
    return { peer, transport };
  }

  /** The initialize result, fetched on a separate connection: a resumed session does not repeat it. */
  async #greeting(config: HttpServerConfig, { unwanted, account }: DialHooks): Promise<Introduction | undefined> {
    const hooks: DialHooks = {
      onLost: () => {},
      onDoubt: () => {},
      onOutput: () => {},
      prepare: () => {},
      unwanted,
      account,
    };
    try {
      const { peer, transport } = await this.#connect(await this.#http(config, hooks, hooks), hooks, true);
      if (transport instanceof HttpTransport) await transport.terminate().catch(() => {});
      await transport.close();
      return peer.introduction;
    } catch {
      // A server that accepts no second connection is used without its initialize result.
      return undefined;
    }
  }

  async #dialOnce(config: ServerConfig, hooks: DialHooks, key: string): Promise<Dialled> {
    const knownOld = this.#knownOld.has(key);
    try {
      const dialled = await ('url' in config
        ? this.#dialHttp(config, hooks, knownOld)
        : this.#dialChild(config, hooks, knownOld));
      if (dialled.peer.isModern) this.#knownOld.delete(key);
      else this.#knownOld.add(key);
      return dialled;
    } catch (error) {
      // An address that is not allowed is the gateway's own error.
      throw error instanceof GatewayError ? error : toServerFailure(error);
    }
  }

  async #dialHttp(config: HttpServerConfig, hooks: DialHooks, knownOld: boolean): Promise<Dialled> {
    try {
      return await this.#connect(await this.#http(config, hooks, hooks), hooks, knownOld);
    } catch (error) {
      if (!refusesStreamableHttp(error)) throw error;
      const { onLost, onDoubt, account } = hooks;
      const transport = new SseTransport(
        config,
        { onLost, onDoubt },
        { limit: this.#limits.of(config), isAllowed: this.#isAllowed, clock: this.#clock, account },
      );
      return this.#connect(transport, hooks, true).catch(() => {
        // Not an SSE server either: the first error says more.
        throw error;
      });
    }
  }

  async #http(
    config: HttpServerConfig,
    health: HttpHealth,
    { unwanted, account }: Pick<DialHooks, 'unwanted' | 'account'>,
    options: Pick<HttpTransportOptions, 'sessionId'> = {},
  ): Promise<HttpTransport> {
    const isAllowed = this.#isAllowed;
    // A name server may take arbitrarily long.
    if (isAllowed) await this.#inTime(unwanted, assertAllowed(new URL(config.url), isAllowed));
    return new HttpTransport(config, health, {
      ...options,
      limit: this.#limits.of(config),
      isAllowed,
      clock: this.#clock,
      account,
    });
  }

  async #dialChild(config: CommandServerConfig, hooks: DialHooks, knownOld: boolean): Promise<Dialled> {
    const transport = new ChildTransport(config, this.#limits.of(config));
    transport.onnoise = hooks.onOutput;
    return this.#connect(transport, hooks, knownOld);
  }

  #newPeer(hooks: DialHooks): Peer {
    const peer = new Peer(this.#clock);
    hooks.prepare(peer);
    return peer;
  }

  async #connect(
    transport: ChildTransport | HttpTransport | SseTransport,
    hooks: DialHooks,
    knownOld: boolean,
  ): Promise<Dialled> {
    const isChild = transport instanceof ChildTransport;
    const timeoutMs = this.#timeoutMs;
    const { name, version } = this.#identity;
    const peer = this.#newPeer(hooks);
    const connect = async (): Promise<void> => {
      await peer.connect(transport);
      peer.introduction = await introduce(peer, {
        client: { name, version },
        capabilities: this.capabilities,
        timeoutMs,
        probeMs: isChild ? Math.min(CHILD_PROBE_MS, timeoutMs / 2) : timeoutMs,
        knownOld,
        isChild,
      });
    };
    try {
      await this.#inTime(hooks.unwanted, connect());
    } catch (error) {
      await transport.close();
      throw isChild ? transport.explain(toServerFailure(error)) : error;
    }
    return { peer, transport };
  }

  /** Waits for the server until it times out or the connection is no longer wanted. */
  async #inTime(unwanted: StopSignal, connected: Promise<unknown>): Promise<void> {
    const ms = this.#timeoutMs;
    const done = within(
      ms,
      connected.then(() => true),
      this.#clock,
    );
    const why = (): ServerFailure => new ServerFailure('closed', 'the connection is not wanted any more');
    if (!(await unlessAborted(done, unwanted, why))) throw new ServerFailure('timeout', noAnswerWithin(ms));
  }
}

/** A server of the 2024 HTTP+SSE transport answers a POST to its stream's address like this. */
function refusesStreamableHttp(error: unknown): boolean {
  return error instanceof HttpRefusal && [400, 404, 405].includes(error.status);
}

/** The server responded, with an error. */
function hasResponded(error: unknown): boolean {
  return error instanceof ErrorResponse || error instanceof HttpRefusal;
}

/** The server does not know our session: HTTP 404 by the specification; many servers send 400. */
function isSessionUnknown(error: unknown): boolean {
  if (error instanceof HttpRefusal) return error.status === 404 || error.status === 400;
  return error instanceof ErrorResponse && !isBrokenWire(error);
}

/** The process exited or closed its output on the version probe. */
function diedOfProbe({ failure, cause }: ServerFailure): boolean {
  const hasEnded = failure === 'exited' || failure === 'stray_output' || failure === 'closed';
  return hasEnded && cause instanceof ProbeFailed;
}
