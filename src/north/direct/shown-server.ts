/** One server as its clients see it: its own information, adapted to the client's era, with task support for calls. */

import { GatewayError } from '../../core/errors.ts';
import type { Connection, ServerInfo } from '../../core/ports/connection.ts';
import type { Session } from '../../core/session/session.ts';
import { signInIn } from '../../core/sign-in/required.ts';
import { messageOf } from '../../lib/log.ts';
import { withoutMeta } from '../../lib/meta.ts';
import { isObject } from '../../lib/values.ts';
import { LATEST_WITH_SESSIONS, SERVER_INFO_KEY, TASKS_EXTENSION } from '../../lib/protocol.ts';
import type { Params } from '../message.ts';
import type { ServerNotification, Shown, RoutedRequests } from './shown.ts';

/** The first version of the protocol that has tasks. */
export const TASKS_SINCE = LATEST_WITH_SESSIONS;

/** What the gateway offers with every server that has tools. */
export const CORE_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** One server, shown natively. */
export class ShownServer implements Shown {
  readonly #session: Session;
  readonly #name: string;
  readonly #info: ServerInfo | undefined;

  /** Without `info`, the client initialized before a restart. */
  constructor(session: Session, name: string, info?: ServerInfo) {
    this.#session = session;
    this.#name = name;
    this.#info = info;
  }

  /** Whether this information is from the current connection. */
  isAt(server: string, { status }: Connection): boolean {
    return server === this.#name && status.state === 'connected' && status.info === this.#info;
  }

  get label(): string {
    return `server '${this.#name}'`;
  }

  initializeResult(protocolVersion: string): Params {
    if (this.#info !== undefined) return initializeResult(this.#name, this.#info, protocolVersion);
    return { protocolVersion, capabilities: {}, serverInfo: { name: 'meanwhile', version: '0' } };
  }

  discoverResult(): Params {
    return discoverResult(this.#known);
  }

  get implementation(): Params {
    return implementationOf(this.#name, this.#known);
  }

  tellsChanges(kind: string): boolean {
    if (this.#info !== undefined) return tellsChanges(this.#info, kind);
    // The client initialized before a restart, most likely with the same server.
    const status = this.#session.connections.find(this.#name)?.status;
    return status?.state === 'connected' && tellsChanges(status.info, kind);
  }

  answer(): undefined {
    return undefined;
  }

  route(_method: string, params: Params): RoutedRequests {
    return [{ server: this.#name, params }];
  }

  infoOf(): ServerInfo {
    return this.#known;
  }

  toolName(_server: string, tool: string): string {
    return tool;
  }

  resultFrom(_server: string, result: Params): Params {
    return result;
  }

  notificationTargets(): string[] {
    return [this.#name];
  }

  subscribed(): void {
    // The client uses the server's own URIs.
  }

  unsubscribed(): boolean {
    return true;
  }

  fromServer(_server: string, method: string, params: Params | undefined): readonly ServerNotification[] {
    return [{ method, params }];
  }

  get #known(): ServerInfo {
    if (this.#info === undefined) throw new Error(`${this.label} is not initialized`);
    return this.#info;
  }
}

function initializeResult(server: string, info: ServerInfo, protocolVersion: string): Params {
  const { sessions } = info.traits;
  return asOfItsVersion({
    ...(sessions ? info.initializeResult : withoutDiscovery(info.initializeResult ?? {})),
    protocolVersion,
    capabilities: legacyCapabilities(info),
    serverInfo: implementationOf(server, info),
    ...instructionsIn(info),
  });
}

function discoverResult(info: ServerInfo): Params {
  const { sessions } = info.traits;
  return {
    ...(sessions ? withoutInitialization(info.initializeResult ?? {}) : info.initializeResult),
    capabilities: modernCapabilities(info),
    ...instructionsIn(info),
  };
}

/** A client may negotiate an older protocol version, which has no tasks. */
export function asOfItsVersion(introduction: Params): Params {
  const { protocolVersion, capabilities } = introduction;
  if (typeof protocolVersion !== 'string' || protocolVersion >= TASKS_SINCE || !isObject(capabilities))
    return introduction;
  const { tasks: _tasks, ...others } = capabilities;
  return { ...introduction, capabilities: others };
}

/** The information of the server, once it is connected. */
export function serverInfo(server: string, connection: Connection): Promise<ServerInfo> {
  return connection.ready().catch((error: unknown) => {
    // Its tools are unknown until the sign-in; its calls can wait.
    if (signInIn(error) !== undefined) return beforeSignIn(server, messageOf(error));
    const message = `server '${server}' cannot be reached: ${messageOf(error)}`;
    throw new GatewayError('TOOL_ERR_SERVER_UNREACHABLE', message);
  });
}

/** A server that is unknown until the sign-in. Afterwards its client is notified that the tool list has changed. */
function beforeSignIn(server: string, message: string): ServerInfo {
  return {
    protocolVersion: LATEST_WITH_SESSIONS,
    traits: { sessions: false, asksInRounds: false, declaredPerRequest: false },
    capabilities: { tools: { listChanged: true } },
    implementation: { name: server, version: '0' },
    instructions: `The tools of ${server} are not known yet: ${message}. Tell the user.`,
  };
}

/** Whether the server announced notifications about changes of this kind of list. */
function tellsChanges({ capabilities }: ServerInfo, kind: string): boolean {
  const offered = capabilities[kind];
  return isObject(offered) && offered['listChanged'] === true;
}

function legacyCapabilities(info: ServerInfo): Params {
  const { extensions, tasks: _tasks, ...capabilities } = info.capabilities;
  const { [TASKS_EXTENSION]: _extension, ...others } = isObject(extensions) ? extensions : {};
  return {
    ...capabilities,
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(capabilities['tools'] !== undefined && { tasks: CORE_TASKS }),
  };
}

function modernCapabilities(info: ServerInfo): Params {
  const { extensions, tasks: _tasks, ...capabilities } = info.capabilities;
  const offered = {
    ...(isObject(extensions) && extensions),
    ...(capabilities['tools'] !== undefined && { [TASKS_EXTENSION]: {} }),
  };
  return { ...capabilities, ...(Object.keys(offered).length > 0 && { extensions: offered }) };
}

function implementationOf(server: string, { implementation }: ServerInfo): Params {
  return implementation ?? { name: server, version: '0' };
}

function instructionsIn({ instructions }: ServerInfo): Params {
  return instructions === undefined || instructions === '' ? {} : { instructions };
}

/** Removes the fields that exist only in `server/discover`. */
function withoutDiscovery(result: Params): Params {
  const { supportedVersions: _versions, ttlMs: _ttl, cacheScope: _scope, ...rest } = result;
  return withoutMeta(rest, SERVER_INFO_KEY);
}

/** Removes the fields that exist only in `initialize`. */
function withoutInitialization({ protocolVersion: _version, serverInfo: _info, ...rest }: Params): Params {
  return rest;
}
