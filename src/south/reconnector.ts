import type { Arrival, ConnectionStatus, ServerInfo } from '../core/ports/connection.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import { Stopper, type StopSignal } from '../lib/abort.ts';
import { backoffDelay, type BackoffSettings } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import { LazySet } from '../lib/lazy-collections.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { failureKindOf, ServerFailure, type ServerFailureKind } from '../lib/server-failure.ts';
import { ConnectionHistory } from './connection-history.ts';
import type { Dialled, Dialler, DialHooks } from './dial.ts';
import { Heartbeat, type PingSchedule } from './heartbeat.ts';
import type { Peer } from './peer/peer.ts';
import { infoOf, offerOf } from './server-info.ts';
import type { TaskOffer } from './server-task.ts';
import type { ConnectionAccount } from '../core/sign-in/connection-account.ts';
import { ChildTransport } from './transport/child.ts';
import { HttpTransport } from './transport/http.ts';
import { HttpRefusal } from './transport/http-refusal.ts';
import type { ServerTransport } from './transport/transport.ts';

export interface ReconnectSettings {
  /** A session with the server that an earlier client kept open. */
  sessionId?: string;
  pings: PingSchedule;
  /** Whether to retry automatically if the server was never reached; otherwise the next use retries. */
  persistent: boolean;
  reconnect: BackoffSettings & { attempts: number; stableMs: number };
  clock: Clock;
  /** The account for the connection; absent if the server has none. */
  account?: ConnectionAccount | undefined;
}

/** A server on a connection that is up. */
export interface Live {
  peer: Peer;
  transport: ServerTransport;
  info: ServerInfo;
  offer: TaskOffer | undefined;
  since: number;
  heartbeat: Heartbeat;
  /** Tasks with a stream for status changes. */
  listening: LazySet<string>;
}

export interface ReconnectorHooks extends Pick<DialHooks, 'prepare' | 'onOutput'> {
  /** The connection is up. `resumed`: in the same session as before. */
  onUp: (live: Live, arrival: Arrival, resumed: boolean) => void;
  onLost: (live: Live, reason: string) => void;
  /** The server was not reached, and no attempt follows until the next use. */
  onFailed: (error: string) => void;
  /** A stream or request broke: worth checking whether the server is alive. */
  onDoubt: (live: Live, reason: string) => void;
  /** Whether the server may be too busy to answer pings. */
  mayBeSilent: () => boolean;
}

export interface ReconnectorParts {
  server: string;
  config: ServerConfig;
  dialler: Dialler;
  settings: ReconnectSettings;
  hooks: ReconnectorHooks;
  log: Log;
}

interface Failed {
  error: string;
  failure: ServerFailureKind | undefined;
}

type Mode =
  | { mode: 'idle' }
  | { mode: 'connecting'; attempt: Promise<Live>; unwanted: Stopper }
  | { mode: 'up'; live: Live }
  | ({ mode: 'waiting'; cancel: () => void; retryAt: number } & Failed)
  | ({ mode: 'failed' } & Failed)
  | { mode: 'closed' };

/**
 * Keeps a server connected. It has one mode at a time, changed in one place (`#enter`): idle until first used, connecting (one
 * attempt, shared by all callers), up, waiting for the next attempt, or failed until its next use. Loss is noticed when it
 * happens: a child's exit, a refused connection, a forgotten session, a broken stream or a ping without an answer.
 */
export class Reconnector {
  #mode: Mode = { mode: 'idle' };
  /** Consecutive failures: failed attempts and lost connections. Also the number of the next attempt. */
  #failures = 0;
  readonly #history: ConnectionHistory;
  /** The cleanup of the last connection, which must end before the next one starts. */
  #parting: Promise<void> = Promise.resolve();
  readonly #parts: ReconnectorParts;

  constructor(parts: ReconnectorParts) {
    this.#parts = parts;
    this.#history = new ConnectionHistory(parts.settings.sessionId);
  }

  get status(): ConnectionStatus {
    const now = this.#mode;
    switch (now.mode) {
      case 'idle':
      case 'connecting':
      case 'closed':
        return { state: now.mode };
      case 'up':
        return { state: 'connected', since: now.live.since, info: now.live.info };
      case 'waiting':
        return { state: 'waiting', attempt: this.#failures, retryAt: now.retryAt, ...failureOf(now) };
      case 'failed':
        return { state: 'failed', ...failureOf(now) };
    }
  }

  /** The server, if the connection is up now. */
  get up(): Live | undefined {
    return this.#mode.mode === 'up' ? this.#mode.live : undefined;
  }

  get closed(): boolean {
    return this.#mode.mode === 'closed';
  }

  /** Connects unless connected. */
  async live(): Promise<Live> {
    const now = this.#mode;
    switch (now.mode) {
      case 'up':
        return now.live;
      case 'connecting':
        return now.attempt;
      case 'closed':
        throw this.#closedFailure();
      case 'idle':
        return this.#connect('schedule');
      case 'waiting':
      case 'failed':
        return this.#connect('use');
    }
  }

  /** Resumes the session in which a task was created: if tasks belong to sessions, no other session has it. */
  adoptSession(sessionId: string | undefined): void {
    this.#history.adoptSession(sessionId);
  }

  /** `beforeHangUp` is awaited after the last use of the connection. */
  async close(keepSession: boolean, beforeHangUp: (live: Live) => Promise<void>): Promise<void> {
    const before = this.#mode;
    this.#enter({ mode: 'closed' });
    if (before.mode === 'up') {
      await beforeHangUp(before.live);
      await this.#hangUp(before.live, !keepSession);
    } else if (before.mode === 'connecting') {
      // Otherwise close would wait for a silent server until the attempt times out.
      before.unwanted.abort(this.#closedFailure());
      await before.attempt.catch(() => {});
    }
    await this.#parting;
  }

  #closedFailure(): ServerFailure {
    return new ServerFailure('closed', `the connection to '${this.#parts.server}' is closed`);
  }

  /** The one place where the mode changes. It releases the resources of the old mode. */
  #enter(next: Mode): void {
    if (this.#mode.mode === 'waiting') this.#mode.cancel();
    if (this.#mode.mode === 'up') this.#mode.live.heartbeat.stop();
    this.#mode = next;
  }

  /** Attempts caused by a use of the connection, beside the schedule, do not count against it. */
  async #connect(because: 'use' | 'schedule', number?: number): Promise<Live> {
    const unwanted = new Stopper();
    const attempt = this.#dial(unwanted);
    this.#enter({ mode: 'connecting', attempt, unwanted });
    attempt.then(
      () => {
        if (because === 'use') this.#failures = 0;
      },
      (error: unknown) => {
        if (this.#mode.mode !== 'connecting' || this.#mode.attempt !== attempt) return;
        if (because === 'schedule') this.#failures += 1;
        this.#parts.log.warn(this.#history.hasConnected ? 'server_reconnect_failed' : 'server_connect_failed', {
          ...(number !== undefined && { attempt: number }),
          error: messageOf(error),
        });
        this.#waitOrFail(messageOf(error), failureKindOf(error));
      },
    );
    return attempt;
  }

  async #dial(unwanted: StopSignal): Promise<Live> {
    // Loss may be reported before the connection counts as up; then it never does.
    let lostEarly: ServerFailure | undefined;
    let live: Live | undefined;
    await this.#parting;
    unwanted.throwIfAborted();
    const onLost = (failure: ServerFailure): void => {
      if (live) this.#lost(live, failure.message, failure.failure);
      else lostEarly = failure;
    };
    const onDoubt = (reason: string): void => {
      if (live) this.#parts.hooks.onDoubt(live, reason);
    };
    const { prepare, onOutput, mayBeSilent } = this.#parts.hooks;
    const { account } = this.#parts.settings;
    const hooks: DialHooks = { prepare, onOutput, onLost, onDoubt, unwanted, account };
    const resumed = await this.#resume(hooks);
    const { peer, transport } = resumed ?? (await this.#parts.dialler.dial(this.#parts.config, hooks));
    if (transport instanceof ChildTransport) transport.onexit = (how) => onLost(new ServerFailure('exited', how));
    else peer.onclose = () => onLost(new ServerFailure('closed', 'the connection was closed'));
    const { pings, clock } = this.#parts.settings;
    live = {
      peer,
      transport,
      info: infoOf(peer),
      offer: offerOf(peer),
      since: clock.now(),
      heartbeat: new Heartbeat(peer, { mayBeSilent, transport, onGone: onLost, schedule: pings }),
      listening: new LazySet(),
    };
    if (this.#mode.mode === 'closed' || lostEarly !== undefined) {
      live.heartbeat.stop();
      await this.#hangUp(live, true);
      throw lostEarly ?? this.#closedFailure();
    }
    const arrival = this.#history.connected(live);
    this.#enter({ mode: 'up', live });
    this.#parts.hooks.onUp(live, arrival, resumed !== undefined);
    return live;
  }

  async #resume(hooks: DialHooks): Promise<Dialled | undefined> {
    const { session } = this.#history;
    if (session === undefined || !('url' in this.#parts.config)) return undefined;
    try {
      const resumed = await this.#parts.dialler.resume(this.#parts.config, hooks, session.peer, session.id);
      if (resumed === undefined) this.#history.sessionForgotten();
      return resumed;
    } catch (error) {
      if (!(error instanceof HttpRefusal) || error.isPassing) throw error;
      // Some servers refuse only the session, with a non-standard error. If a new session fails too, this is retried.
      return undefined;
    }
  }

  #lost(live: Live, reason: string, failure: ServerFailureKind): void {
    if (this.up !== live) return;
    const { clock, reconnect } = this.#parts.settings;
    // A server that dies soon after each start uses up its attempts like one that never starts.
    this.#failures = clock.now() - live.since >= reconnect.stableMs ? 1 : this.#failures + 1;
    this.#parts.log.info('server_disconnected', { reason });
    this.#history.lost(live);
    this.#waitOrFail(reason, failure);
    this.#parts.hooks.onLost(live, reason);
    this.#parting = this.#hangUp(live, false).catch((error: unknown) => {
      this.#parts.log.warn('hang_up_failed', { error: messageOf(error) });
    });
  }

  #waitOrFail(error: string, failure: ServerFailureKind | undefined): void {
    const { clock, reconnect, persistent } = this.#parts.settings;
    const attempt = this.#failures;
    const isFirst = !this.#history.hasConnected && !persistent;
    // Only a person can fix that.
    if (attempt > reconnect.attempts || isFirst || failure === 'sign_in') {
      this.#enter({ mode: 'failed', error, failure });
      this.#parts.hooks.onFailed(error);
      return;
    }
    const delayMs = backoffDelay(attempt, reconnect);
    const connect = (): void => {
      this.#parts.log.info('server_reconnecting', { attempt, delayMs });
      this.#connect('schedule', attempt).catch(() => {
        // Already logged: a failed attempt schedules the next one itself.
      });
    };
    const cancel = clock.after(delayMs, connect, { unref: true });
    this.#enter({ mode: 'waiting', cancel, retryAt: clock.now() + delayMs, error, failure });
  }

  /** Closes without reporting a loss. */
  async #hangUp(live: Live, polite: boolean): Promise<void> {
    try {
      if (polite && live.transport instanceof HttpTransport) await live.transport.terminate();
    } catch (error) {
      this.#parts.log.debug('goodbye_failed', { error: messageOf(error) });
    }
    await live.transport.close();
  }
}

function failureOf({ error, failure }: Failed): { error: string; failure?: ServerFailureKind } {
  return failure === undefined ? { error } : { error, failure };
}
