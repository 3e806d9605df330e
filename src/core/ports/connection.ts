/** A server, and a connection to it. `south` implements `Connection`. */
import type { StopSignal } from '../../lib/abort.ts';
import type { BigNumber } from '../../lib/exact-json.ts';
import type { ServerFailureKind } from '../../lib/server-failure.ts';
import type { Answer, Approval, AskedSignIn, InteractionKind } from '../interaction/interaction.ts';
import type { CallResult, ResumePoint, TaskError } from '../task/task.ts';
import type { NeededSignIn } from './accounts.ts';
import type { ServerConfig } from './server-config.ts';

/** Differences between servers that the rest of the gateway has to know. */
export interface ServerTraits {
  /** The server keeps a session per client across requests. Otherwise each request is independent. */
  sessions: boolean;
  /** The server returns questions instead of a result and receives the answers with the next request (MRTR). */
  asksInRounds: boolean;
  /** Each request declares the log level and the capabilities of the client. */
  declaredPerRequest: boolean;
}

/** Information about a connected server. */
export interface ServerInfo {
  protocolVersion: string;
  traits: ServerTraits;
  /** The server's own task support: its generation and operations; absent without. */
  tasks?: { generation: string; list: boolean; cancel: boolean };
  capabilities: Record<string, unknown>;
  /** Its name, version and other fields of `serverInfo`. */
  implementation?: { name: string; version: string; [field: string]: unknown };
  instructions?: string;
  /** The raw initialize result; absent in a session resumed after a restart. */
  initializeResult?: Record<string, unknown>;
}

export type ConnectionStatus =
  | { state: 'idle' }
  | { state: 'connecting' }
  | { state: 'connected'; since: number; info: ServerInfo }
  | { state: 'waiting'; attempt: number; retryAt: number; error: string; failure?: ServerFailureKind }
  | { state: 'failed'; error: string; failure?: ServerFailureKind }
  | { state: 'closed' };

/** The requests that were open when a question arrived and may have caused it. */
export interface Candidates {
  /** Ids of the calls that have not ended since. */
  calls: string[];
  /** Whether requests other than calls were open as well. */
  others: boolean;
}

/** The request that caused a question. With neither field, no open request can have caused it. */
export interface Asker {
  /** The call, or other request with an id, that certainly asked. */
  callId?: string;
  /** The requests that may have asked, if it is unknown which one did. */
  candidates?: Candidates;
  /** Aborted when the candidates that are not calls have ended. */
  othersEnded?: AbortSignal;
}

/** A question as it arrives. */
export interface IncomingQuestion extends Asker {
  kind: InteractionKind;
  params: Record<string, unknown>;
  /** The asking task, if it is known without a call. */
  taskId?: string;
  /** Aborted when the server withdraws the question. */
  withdrawn: AbortSignal;
  /** How long it may wait for an answer, if the server set a limit. */
  timeoutMs?: number;
  /** The answer does not need the original connection, so the question survives its loss. */
  detached?: boolean;
  /** The server's key of a detached question of a call; the same key means the same question. */
  key?: string;
  /** Aborted when the server has received the answer, which must not be lost before. */
  taken?: AbortSignal;
  /** Set if the gateway itself asks for the approval of a call. */
  approval?: Approval;
  /** Set if the gateway itself asks the person to sign in to the server. */
  signIn?: AskedSignIn;
  /** Only a person may answer it, not the hub tools. */
  approver?: 'person';
  /** Called as soon as the session accepts an answer, before it is stored: from then on no other session may answer. */
  onAnswered?: () => void;
  /** Asked by the gateway itself: rules do not answer it. */
  fromGateway?: boolean;
  /** The server's original message, if the params extend it. */
  ownMessage?: string;
}

/** `stdout`: a line there that is not a message. */
export type LogSource = 'protocol' | 'stderr' | 'stdout';

export interface ServerLog {
  level: string;
  source: LogSource;
  logger?: string;
  data: unknown;
}

/** Whether a reconnected server kept its session (`blip`) or started over (`restart`). */
export type Arrival = 'first' | 'blip' | 'restart';

/** The request that a notification belongs to; `unknown` if it may belong to several. */
export type RelatedRequest = { requestId: string } | 'no request' | 'unknown';

/** Receives what happens on one connection. */
export interface ConnectionSink {
  connected(arrival: Arrival, info: ServerInfo): void;
  lost(reason: string): void;
  notification(method: string, params: Record<string, unknown>): void;
  log(entry: ServerLog): void;
  /** Every raw notification of the server, including logs, with its related request. */
  rawNotification?(method: string, params: Record<string, unknown> | undefined, relatedRequest: RelatedRequest): void;
  /** Progress of a server task that no call on this connection follows. */
  taskProgress?(taskId: string, progress: Progress): void;
  /** Resolves with the answer; rejects with an error that goes back to the server. */
  question(question: IncomingQuestion): Promise<Answer>;
}

export interface Progress {
  progress: number | BigNumber;
  total?: number | BigNumber | undefined;
  message?: string | undefined;
  /** Other fields from the server. */
  [field: string]: unknown;
}

/** A server's own task, independent of its protocol version. */
export interface ServerTask {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** How long the server keeps the task after its creation, in milliseconds; `null` without limit. */
  ttl: number | null;
  /** The poll interval that the server suggests, in milliseconds. */
  pollInterval?: number;
}

/** Abort reason: stop following the call, but leave its task on the server running. */
export const LEAVE_RUNNING = Symbol('leave running');

/** What a connection reports of a call. */
export interface CallListener {
  onProgress(progress: Progress): void;
  /** Called when the server runs the call as this task, and again whenever the task changes. */
  onTask(task: ServerTask): void;
  /** Called before the call is first sent; the call waits for the returned promise, if any. */
  onSending?(): Promise<void> | undefined;
  /** Where the call continues from now on; `undefined` if it depends on its connection again. Resolves once stored. */
  onCheckpoint(checkpoint: ResumePoint | undefined): Promise<void>;
  /** All current questions have been presented again: questions left from before a restart are obsolete. */
  onAllAsked?(): void;
}

export interface OutgoingCall {
  id: string;
  tool: string;
  args: Record<string, unknown>;
  /** Sent without any arguments. */
  bare?: boolean;
  /** Sent as the request's `_meta`. */
  meta?: Record<string, unknown>;
  /** Other params of the request. */
  more?: Record<string, unknown>;
  /** Whether the server may run the call as its own task: whenever it supports that, or only if it requires it. */
  tasks: 'use' | 'avoid';
  /** The TTL to request for such a task. */
  taskTtlMs?: number;
  /** Aborted to stop the work on the server, unless for the reason `LEAVE_RUNNING`. */
  signal: StopSignal;
  listener: CallListener;
}

/** A request that is relayed unchanged, as is its result. */
export interface OutgoingRequest {
  /** Questions on its response stream, and those of its rounds, belong to this id. */
  id: string;
  method: string;
  params: Record<string, unknown>;
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
  /** What to do when the server returns questions instead of a result: return them, or ask the session and resend the request. */
  rounds: 'return' | 'answer';
}

export type CallOutcome =
  | { kind: 'result'; result: CallResult }
  | { kind: 'error'; error: TaskError }
  /** The server ended its own task. */
  | { kind: 'cancelled'; reason: string }
  /** `signIn`: the server refuses the call, or its continuation, until a person has signed in. */
  | { kind: 'unreachable'; reason: string; failure?: ServerFailureKind; signIn?: NeededSignIn }
  | { kind: 'lost'; reason: string; failure?: ServerFailureKind };

/** One session's connection to one server. */
export interface Connection {
  readonly status: ConnectionStatus;
  /** Connects unless connected; concurrent callers share one attempt. */
  ready(): Promise<ServerInfo>;
  call(call: OutgoingCall): Promise<CallOutcome>;
  /** Continues a call from a checkpoint. */
  resume(checkpoint: ResumePoint, call: OutgoingCall): Promise<CallOutcome>;
  request(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<Record<string, unknown>>;
  relay(request: OutgoingRequest): Promise<Record<string, unknown>>;
  /** Sends a notification to the server if it is connected. */
  notify(method: string, params: Record<string, unknown> | undefined): void;
  /** Resolve with the server's response. */
  subscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>>;
  unsubscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>>;
  /**
   * With `keepSession` the server's session is not ended, so that it can be resumed later; with `silently` nothing at all is
   * sent, because another gateway has already resumed it.
   */
  close(options?: { keepSession?: boolean; silently?: boolean }): Promise<void>;
}

/** The subscriptions and the log level that a client has set on a server. */
export interface ServerPreferences {
  /** The resources it is subscribed to. */
  uris: string[];
  logLevel?: string;
}

/** The source of a server. */
export type AddedBy = 'config file' | 'client';

export interface ClientTraits {
  principal: string;
  /** Servers added by clients are restricted to certain addresses. */
  addedBy: AddedBy;
  /** Whether the `roots` capability is declared to the server; other capabilities are always declared. */
  roots: boolean;
  /** The preferences that the client set before this connection existed. */
  preferences: ServerPreferences;
}

export interface Backends {
  connect(server: string, config: ServerConfig, sink: ConnectionSink, traits: ClientTraits): Connection;
}
