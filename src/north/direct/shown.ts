/** What the clients of the native endpoints see: one server as it is, or several as if they were one. */

import type { ServerInfo } from '../../core/ports.ts';
import { hasRpcCode, INVALID_PARAMS, RESOURCE_NOT_FOUND, type RpcFailure } from '../../lib/rpc-error.ts';
import type { Params } from '../message.ts';

/** The server that a request is for, and what it said of itself. */
export interface Recipient {
  server: string;
  info: ServerInfo;
}

/** A request, in the words of the server that it is for. */
export interface Target {
  server: string;
  params: Params;
  /** Puts the server's result into the words of the client, where they differ. */
  translate?: (result: Params) => Params;
}

/** A resource that is in no list may be of any server: each is asked until one has it. */
export type Targets = readonly [Target, ...Target[]];

export interface Notification {
  method: string;
  params: Params | undefined;
}

export interface Shown {
  /** What it is called in an error. */
  readonly label: string;
  /** The result of `initialize`. */
  initializeResult(protocolVersion: string): Params;
  /** The result of `server/discover`, except for the versions. */
  discoverResult(): Params | Promise<Params>;
  /** The server as its clients see it. */
  readonly implementation: Params;
  /** Whether clients were told that they hear of changes of this kind of list. */
  tellsChanges(kind: string): boolean;
  /** Answers what is not for one server; `undefined` if the request is. */
  answer(method: string, params: Params): Promise<Params | undefined> | undefined;
  /** The server that a request is for. */
  route(method: string, params: Params): Targets | Promise<Targets>;
  /** What a server of a request says of itself. */
  infoOf(server: string): ServerInfo | Promise<ServerInfo>;
  /** The name under which the client knows a server's tool. */
  toolName(server: string, tool: string): string;
  /** The result of a server's tool as the client gets it. */
  resultFrom(server: string, result: Params): Params;
  /** The servers that get a notification of the client. */
  notificationTargets(method: string): string[];
  /** The client has subscribed to a server's resource, under the address that it gave. */
  subscribed(server: string, uri: string, given: string): void;
  /** It does not use this address any more; tells whether the subscription at the server can end. */
  unsubscribed(server: string, uri: string, given: string): boolean;
  /** A server's notification as the client gets it: once for each address that it subscribed with. */
  fromServer(server: string, method: string, params: Params | undefined): readonly Notification[];
}

/**
 * Sends a request to its server, or to one after the other until one has what it is about. Servers have many ways to say that
 * they do not have it.
 */
export function sendTo<T>(targets: Targets, send: (target: Target) => Promise<T>): Promise<T> {
  return targets.length === 1 ? send(targets[0]) : sendToEach(targets, send);
}

async function sendToEach<T>(targets: Targets, send: (target: Target) => Promise<T>): Promise<T> {
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
