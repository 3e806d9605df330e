/** What clients of native endpoints see: one server, or several as one. */

import type { ServerInfo } from '../../core/ports/connection.ts';
import { hasRpcCode, INVALID_PARAMS, RESOURCE_NOT_FOUND, type RpcFailure } from '../../lib/rpc-error.ts';
import type { Params } from '../message.ts';

/** The server that a request is for, and its information. */
export interface Recipient {
  server: string;
  info: ServerInfo;
}

/** A request, translated for its server. */
export interface RoutedRequest {
  server: string;
  params: Params;
  /** Translates the server's result for the client, if they differ. */
  translate?: (result: Params) => Params;
}

/** A resource that is in no list may be on any server: each is asked until one has it. */
export type RoutedRequests = readonly [RoutedRequest, ...RoutedRequest[]];

export interface ServerNotification {
  method: string;
  params: Params | undefined;
}

export interface Shown {
  /** Its name in errors. */
  readonly label: string;
  /** The result of `initialize`. */
  initializeResult(protocolVersion: string): Params;
  /** The result of `server/discover`, except for the versions. */
  discoverResult(): Params | Promise<Params>;
  /** The server as its clients see it. */
  readonly implementation: Params;
  /** Whether `listChanged` was declared to clients for this kind of list. */
  tellsChanges(kind: string): boolean;
  /** Answers requests that are not for a single server; `undefined` for others. */
  answer(method: string, params: Params): Promise<Params | undefined> | undefined;
  /** The server that a request is for. */
  route(method: string, params: Params): RoutedRequests | Promise<RoutedRequests>;
  /** The information of a server. */
  infoOf(server: string): ServerInfo | Promise<ServerInfo>;
  /** The name under which the client knows a server's tool. */
  toolName(server: string, tool: string): string;
  /** The result of a server's tool as the client gets it. */
  resultFrom(server: string, result: Params): Params;
  /** The servers that get a notification of the client. */
  notificationTargets(method: string): string[];
  /** The client has subscribed to a server's resource under this URI. */
  subscribed(server: string, uri: string, given: string): void;
  /** The client no longer uses this URI; returns whether the subscription on the server can end. */
  unsubscribed(server: string, uri: string, given: string): boolean;
  /** A server's notification for the client: once for each URI that it subscribed with. */
  fromServer(server: string, method: string, params: Params | undefined): readonly ServerNotification[];
}

/**
 * Sends a request to its server, or to several in turn until one has the resource. Servers report in many ways that
 * they do not have it.
 */
export function sendTo<T>(targets: RoutedRequests, send: (target: RoutedRequest) => Promise<T>): Promise<T> {
  return targets.length === 1 ? send(targets[0]) : sendToEach(targets, send);
}

async function sendToEach<T>(targets: RoutedRequests, send: (target: RoutedRequest) => Promise<T>): Promise<T> {
  const failures: (Error & RpcFailure)[] = [];
  for (const target of targets) {
    try {
      return await send(target);
    } catch (error) {
      if (!hasRpcCode(error)) throw error;
      failures.push(error);
    }
  }
  const isOther = ({ code }: RpcFailure): boolean => code !== RESOURCE_NOT_FOUND && code !== INVALID_PARAMS;
  throw failures.find(isOther) ?? failures[0] ?? new Error('a request for no server');
}
