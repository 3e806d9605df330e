/**
 * The events that metrics and traces observe. There is no observer unless one of them is in use. Callers look the observer up
 * each time, because metrics start with the first request for them.
 */
import type { Because } from './call/request.ts';
import type { InteractionKind, SettledInteraction } from './interaction/interaction.ts';
import type { QuotaName } from './quota/settings.ts';
import type { View } from './session/kind.ts';
import type { EndedTask } from './task/task.ts';

export interface Observed {
  observer?: Observer | undefined;
}

export interface Observer {
  /** A client makes a request. */
  clientRequest(request: ObservedRequest): Operation;
  /** The gateway makes a request to a server: a call until its outcome, with all its rounds and polls. */
  serverRequest(request: ObservedServerRequest): Operation;
  callPromoted(server: string, because: Because): void;
  taskEnded(task: EndedTask): void;
  questionEnded(question: ObservedQuestion): void;
  /** The store wrote a group of changes, or tried to. */
  storeCommitted(seconds: number, outcome: 'stored' | 'failed'): void;
  /** A request went to the gateway that owns its session. */
  requestForwarded(outcome: ForwardOutcome): void;
  /** A notification was delivered or failed, or `count` notifications were dropped. */
  notificationSent(target: string, outcome: NotificationOutcome, count?: number): void;
  /** A principal exceeded a quota. */
  quotaRefused(quota: QuotaName): void;
}

/** A request that is being observed. */
export interface Operation {
  /** The trace context to forward with the request instead of the one it arrived with. */
  context?: TraceContext | undefined;
  /** `errorType`: the code of a JSON-RPC error, `tool_error`, or why there is no response. */
  end(errorType?: string): void;
}

/** As in `_meta`. */
export type TraceContext = Record<string, string>;

export interface ObservedRequest {
  id: string | number;
  method: string;
  params: Record<string, unknown>;
  view: View['kind'];
  protocolVersion: string | undefined;
  /** The trace context of the task that the request is about. */
  taskTrace: () => string | undefined;
}

export interface ObservedServerRequest {
  server: string;
  /** The address of a server with a URL. */
  url: string | undefined;
  method: string;
  /** The name of a tool or prompt. */
  target: string | undefined;
  meta: Record<string, unknown> | undefined;
  /** The call id that questions refer to. */
  callId: string | undefined;
  /** It resumes a call from before a restart. */
  resumed: boolean;
}

/** How an answer arrived: a request to the client, an MRTR round, a hub tool, the console, a terminal, the config, or a link in a message. */
export type AnsweredVia = 'request' | 'round' | 'tools' | 'console' | 'terminal' | 'rule' | 'model' | 'link';

export interface ObservedQuestion {
  kind: InteractionKind;
  server: string;
  createdAt: number;
  endedAt: number;
  outcome: SettledInteraction['status'] | 'refused';
  via: AnsweredVia | undefined;
  callId: string | undefined;
  /** The trace context of the task that asked. */
  taskTrace: string | undefined;
}

/** `unreachable`: the owner did not accept it. `refused`: it no longer owns the session. `broken`: the response was cut off. */
export type ForwardOutcome = 'answered' | 'unreachable' | 'refused' | 'broken';

/** `failed`: will be retried. `given_up`: will not. `dropped`: too many were queued. */
export type NotificationOutcome = 'delivered' | 'failed' | 'given_up' | 'dropped';
