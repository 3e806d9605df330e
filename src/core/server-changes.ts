import { isDeepStrictEqual } from 'node:util';
import { messageOf, type Log } from '../lib/log.ts';
import type { ListItem } from '../lib/pages.ts';
import { redactUrl } from '../lib/redact.ts';
import { failureKindOf } from '../lib/server-failure.ts';
import { GatewayError } from './errors.ts';
import type { ServerInfo } from './ports/connection.ts';
import type { ServerRecord } from './ports/records.ts';
import type { ServerConfig } from './ports/server-config.ts';
import { partsOf, type Audience, type ServerRegistry } from './session/registry.ts';
import type { Session } from './session/session.ts';

export interface AddedServer {
  info: ServerInfo;
  tools: ListItem[];
}

interface ServerChangesParts {
  registry: ServerRegistry;
  log: Log;
  /** All open sessions. */
  sessions: () => Session[];
  end: (session: Session, reason: string) => Promise<void>;
  /** Called for changes made by clients of this gateway. */
  onChange?: (event: 'added' | 'replaced' | 'removed', server: string, caller: Session, config?: ServerConfig) => void;
  /** A server is not used any more under this name and config. Nothing that fails there holds up the change. */
  onUnused?: (server: string, config: ServerConfig, audience: Audience) => Promise<void>;
}

/** Adds and removes servers while the gateway runs, for all sessions that see them. */
export class ServerChanges {
  readonly #registry: ServerRegistry;
  readonly #log: Log;
  readonly #sessions: () => Session[];
  readonly #end: ServerChangesParts['end'];
  readonly #onChange: ServerChangesParts['onChange'];
  readonly #onUnused: ServerChangesParts['onUnused'];
  #lastChange: Promise<void> = Promise.resolve();

  constructor({ registry, log, sessions, end, onChange, onUnused }: ServerChangesParts) {
    this.#registry = registry;
    this.#log = log;
    this.#sessions = sessions;
    this.#end = end;
    this.#onChange = onChange;
    this.#onUnused = onUnused;
  }

  /**
   * Stores the server and connects the caller to it. Changes nothing if the server cannot be reached or does not list its
   * tools.
   */
  async add(caller: Session, name: string, given: ServerConfig): Promise<AddedServer> {
    const { principal } = caller;
    const before = caller.servers.get(name);
    if (before && isSameServer(before.config, given)) {
      const info = await orUnreachable(
        caller.connection(name).ready(),
        `server '${name}' already has this configuration, but cannot be reached`,
      );
      return { info, tools: await caller.catalog(name).list('tools') };
    }
    if (before === undefined && this.#registry.isShared(name)) throw nameTaken(name);
    this.#registry.assertMayAdd(principal, name);
    const config = { ...(before && optionsOf(before.config)), ...given };
    const notKept = `server '${name}' could not be reached and was not added`;
    const { info, tools, keep } = await orUnreachable(caller.connections.tryServer(name, config), notKept);
    const audience = await this.#inTurn(async () => {
      try {
        // Other servers may have been added during the connection attempt.
        this.#registry.assertMayAdd(principal, name);
      } catch (error) {
        await keep();
        throw error;
      }
      this.#registry.set(principal, name, config, caller.id);
      const audience = this.#registry.audienceOf(principal, name);
      const added = { name, config, replaced: before !== undefined, addedBy: 'another session' };
      await this.#replace(audience, added, { caller, keep });
      return audience;
    });
    if (before && !isAtSameUrl(before.config, config)) await this.#onUnused?.(name, before.config, audience);
    this.#onChange?.(before ? 'replaced' : 'added', name, caller, config);
    this.#log.info(before ? 'server_config_updated' : 'server_config_added', { server: name });
    return { info, tools };
  }

  async remove(caller: Session, name: string): Promise<void> {
    const { principal } = caller;
    const { config, audience } = await this.#inTurn(async () => {
      const { config } = caller.servers.require(name);
      this.#registry.assertMayRemove(principal, name);
      const audience = this.#registry.audienceOf(principal, name);
      const shownIn = this.#shownIn(audience, name);
      this.#registry.remove(principal, name);
      await this.#takeAway(audience, name, shownIn, (session) =>
        session === caller ? 'this session' : 'another session',
      );
      return { config, audience };
    });
    await this.#onUnused?.(name, config, audience);
    this.#onChange?.('removed', name, caller);
    this.#log.info('server_config_removed', { server: name });
  }

  /** Another gateway on the same store has added, replaced or removed a server. */
  async follow(key: string, record: ServerRecord | undefined): Promise<void> {
    await this.#inTurn(async () => {
      const { owner: principal, name } = record ?? partsOf(key);
      const before = this.#registry.of(principal).get(name);
      const audience = this.#registry.audienceOfStored({ owner: principal, name });
      const shownIn = audience === undefined ? new Set<Session>() : this.#shownIn(audience, name);
      this.#registry.follow(key, record);
      if (audience === undefined) return;
      if (record === undefined) await this.#takeAway(audience, name, shownIn, () => 'another gateway');
      else {
        const { config } = record;
        await this.#replace(audience, { name, config, replaced: before !== undefined, addedBy: 'another gateway' });
      }
    });
  }

  /** Replaces the server of that name in all sessions that see it. */
  async #replace(
    audience: Audience,
    { name, config, replaced, addedBy }: { name: string; config: ServerConfig; replaced: boolean; addedBy: string },
    by?: { caller: Session; keep: () => Promise<void> },
  ): Promise<void> {
    const affected = this.#sessionsOf(audience);
    const inUse = new Set(affected.filter((session) => session.connections.find(name) !== undefined));
    await detachAll(affected, name, { reason: `server '${name}' was replaced`, replaced: true });
    await by?.keep();
    const url = 'url' in config ? { url: redactUrl(config.url) } : {};
    for (const session of this.#sessionsOf(audience)) {
      if (session === by?.caller || session.servers.get(name) === undefined) continue;
      if (session.view.kind === 'hub') session.events.add('server_added', name, { name, ...url, addedBy, replaced });
      if (inUse.has(session) || (session.view.kind === 'group' && session.shown.includes(name))) {
        session.connectInBackground(name);
      } else if (session.view.kind === 'hub') session.connectIfEager(name);
    }
  }

  async #takeAway(
    audience: Audience,
    name: string,
    shownIn: ReadonlySet<Session>,
    remover: (session: Session) => string,
  ): Promise<void> {
    await detachAll(this.#sessionsOf(audience), name, { reason: `server '${name}' was removed`, replaced: false });
    for (const session of this.#sessionsOf(audience)) {
      const { view, access } = session;
      if (audience.everyone && access?.seesShared(name) === false) continue;
      if (view.kind === 'hub') session.events.add('server_removed', name, { name, removedBy: remover(session) });
      if (view.kind === 'group' && shownIn.has(session)) session.connections.notifyListsChanged();
      if (view.kind === 'direct' && view.server === name) await this.#end(session, `server '${name}' was removed`);
    }
  }

  /** Serializes server changes, so that all sessions end up with the same state. */
  async #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#lastChange.then(change);
    // The failure of a change is reported to its caller, not to the next one.
    this.#lastChange = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  /** The sessions that expose the server directly or in a group. */
  #shownIn(audience: Audience, name: string): Set<Session> {
    return new Set(this.#sessionsOf(audience).filter(({ shown }) => shown.includes(name)));
  }

  #sessionsOf(audience: Audience): Session[] {
    return audience.everyone
      ? this.#sessions()
      : this.#sessions().filter(({ principal }) => principal === audience.principal);
  }
}

/** The caller may not use the existing server of that name, nor learn that it exists. */
function nameTaken(name: string): GatewayError {
  return new GatewayError(
    'TOOL_ERR_NOT_ALLOWED',
    `the name '${name}' cannot be used; add the server under another name`,
  );
}

async function detachAll(sessions: Session[], name: string, why: Parameters<Session['detach']>[1]): Promise<void> {
  await Promise.all(sessions.map((session) => session.detach(name, why)));
}

/**
 * Clients define how a server is reached; only the config file defines who shares it and which tools it shows. These options
 * also apply to the replacement of a server.
 */
function optionsOf({ share, include, exclude }: ServerConfig): Partial<ServerConfig> {
  return { ...(share && { share }), ...(include && { include }), ...(exclude && { exclude }) };
}

const isAtSameUrl = (one: ServerConfig, other: ServerConfig): boolean =>
  'url' in one && 'url' in other && one.url === other.url;

function isSameServer(known: ServerConfig, added: ServerConfig): boolean {
  return isDeepStrictEqual(known, { ...optionsOf(known), ...added });
}

async function orUnreachable<T>(connecting: Promise<T>, what: string): Promise<T> {
  return connecting.catch((error: unknown) => {
    if (error instanceof GatewayError) throw error;
    const message = `${what}: ${messageOf(error)}`;
    throw new GatewayError('TOOL_ERR_SERVER_UNREACHABLE', message, undefined, failureKindOf(error));
  });
}
