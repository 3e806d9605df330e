/**
 * What metrics and traces are told. There is no observer unless one of them is in use. Whoever tells it something looks for it
 * each time: metrics begin when they are first asked for.
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
  /** It was tried to deliver a notification, or so many were dropped. */
  notificationSent(target: string, outcome: NotificationOutcome, count?: number): void;
  /** A principal wanted more than it may use. */
  quotaRefused(quota: QuotaName): void;
}

/** A request that is being observed. */
export interface Operation {
  /** The trace context that goes on with the request, in place of the one that it came with. */
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
  /** The call by which questions refer to it. */
  callId: string | undefined;
  /** It goes on with a call that an earlier run of the program began. */
  resumed: boolean;
}

/** By which way an answer came: a request to the client, a round, a tool of the hub, the console, a terminal, the config, or a link in a message. */
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

/** `unreachable`: the owner did not take it. `refused`: it does not own the session any more. `broken`: the response was cut. */
export type ForwardOutcome = 'answered' | 'unreachable' | 'refused' | 'broken';

/** `failed`: it is tried again. `given_up`: it is not. `dropped`: too many waited. */
export type NotificationOutcome = 'delivered' | 'failed' | 'given_up' | 'dropped';
