/** The interfaces that the core needs from outside. `south` and `store` implement them; `main.ts` wires them up. */

import type { StopSignal } from '../lib/abort.ts';
import type { BigNumber } from '../lib/exact-json.ts';
import type { ServerFailureKind } from '../lib/server-failure.ts';
import type { AuditKind, AuditLine, StoredLine } from './audit/line.ts';
import type { SessionEvent } from './event/event.ts';
import type { EntryKind, EntryStatus, EntryWrite, HistoryEntry } from './history/entry.ts';
import type { Answer, Approval, AskedSignIn, Interaction, InteractionKind } from './interaction/interaction.ts';
import type { RememberedTools } from './policy/remembered.ts';
import type { Owner, View } from './session/kind.ts';
import type { CallResult, ResumePoint, Task, TaskError } from './task/task.ts';

// --- Servers -----------------------------------------------------------------------------------------------------

export type ServerConfig = HttpServerConfig | CommandServerConfig;

interface ServerOptions {
  /** Who uses a connection to the server: one session, or all sessions of one principal. */
  share?: 'principal';
  /** Patterns of the tools to show; all by default. */
  include?: readonly string[];
  /** Patterns of tools to hide. */
  exclude?: readonly string[];
}

export interface HttpServerConfig extends ServerOptions {
  url: string;
  headers?: Record<string, string>;
  /** How the gateway signs in to the server, beyond what the server announces; `false`: never. */
  auth?: ServerAuth | false;
}

/** The config of the accounts that the gateway or its principals have on a server. */
export interface ServerAuth {
  grant: 'authorization_code' | 'client_credentials';
  /** A client that is already registered with the authorization server. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** The client authenticates by signing with this key instead of a secret. */
  privateKeyFile?: string | undefined;
  keyId?: string | undefined;
  algorithm?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** The authorization server, if the server announces several or none. */
  issuer?: string | undefined;
  /** A client ID metadata document to use instead of the gateway's. */
  clientMetadataUrl?: string | undefined;
  /** Accepts an authorization server that does not announce PKCE support. */
  allowWithoutPkce?: boolean | undefined;
  /** All principals use one account. */
  shared?: boolean | undefined;
}

export interface CommandServerConfig extends ServerOptions {
  command: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
}

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
  onProgress: (progress: Progress) => void;
  /** Called when the server runs the call as this task, and again whenever the task changes. */
  onTask: (task: ServerTask) => void;
  /** Called before the call is first sent; the call waits for the returned promise, if any. */
  onSending?: () => Promise<void> | undefined;
  /** Where the call continues from now on; `undefined` if it depends on its connection again. Resolves once stored. */
  onCheckpoint: (checkpoint: ResumePoint | undefined) => Promise<void>;
  /** All current questions have been presented again: questions left from before a restart are obsolete. */
  onAllAsked?: () => void;
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

// --- Identity ----------------------------------------------------------------------------------------------------

/** What a client may do: use servers, also answer questions for its principal in the console, or see and answer everything. */
export type Scope = 'use' | 'answer' | 'operate';

/** The scopes and claim values of a token that access rules and quotas refer to. */
export interface TokenFacts {
  scopes: readonly string[];
  claims: Readonly<Record<string, readonly string[]>>;
}

/** Who makes a request. */
export interface Identity {
  principal: string;
  /** Absent if the token has nothing that the configuration refers to, and for tokens from the configuration. */
  facts?: TokenFacts | undefined;
}

/** The identity behind an access token, according to its authorization server. */
export interface Bearer extends Identity {
  /** Derived from issuer and subject, because tokens change. */
  principal: string;
  /** The audiences of the token; `any` if the configuration accepts every audience. */
  audiences: readonly string[] | 'any';
  /** The greatest scope of the token; each scope contains the lesser ones. */
  scope: Scope | undefined;
  expiresAt: number;
}

/** Checks the tokens of authorization servers. */
export interface TokenVerifier {
  /**
   * Synchronous for a recently checked token. Throws a `GatewayError` if the token is invalid or cannot be checked now.
   */
  verify(token: string): Bearer | Promise<Bearer>;
}

// --- Sign-in to the console --------------------------------------------------------------------------------------

/** An authorization server that people can sign in with. */
export interface LoginChoice {
  issuer: string;
  /** Its display name. */
  title: string;
  /** The client id of the gateway. */
  clientId: string;
  /** The scopes and claims that access rules and quotas use, as JSON; absent if they use none. */
  asks?: string | undefined;
}

/** The state of a sign-in, which the browser carries in sealed form, so that any gateway can complete it. */
export interface PendingLogin {
  issuer: string;
  state: string;
  nonce: string;
  /** The PKCE verifier. */
  verifier: string;
  redirectUri: string;
}

/** A person who has signed in. */
export interface LoggedIn extends Identity {
  /** The greatest scope of the person; without one, they have no access. */
  scope: Scope | undefined;
  idToken: string;
  /** How long they stay signed in. */
  sessionMs: number;
}

/** Signs people in with authorization servers. Errors are of the kind `GatewayError`. */
export interface Logins {
  choices: readonly LoginChoice[];
  /** The page of the issuer to send the browser to. */
  begin(issuer: string, redirectUri: string): Promise<{ url: string; pending: PendingLogin }>;
  /** Checks the parameters of the redirect, and asks the issuer for the identity. */
  complete(pending: PendingLogin, parameters: URLSearchParams): Promise<LoggedIn>;
  /** The issuer's sign-out page, which returns to `returnTo`, if it has one. */
  endUrl(issuer: string, returnTo: string, idToken?: string): Promise<string | undefined>;
}

// --- Accounts on servers -----------------------------------------------------------------------------------------

/** A server that may require authorization, and the principal that uses it. */
export interface AccountAt {
  principal: string;
  server: string;
  config: HttpServerConfig;
}

/** How a server refused a request: the status and the content of its `WWW-Authenticate` header. */
export interface AuthChallenge {
  status: 401 | 403;
  /** Such as `invalid_token` or `insufficient_scope`. */
  error?: string;
  scope?: string;
  resourceMetadata?: string;
}

/** A pending sign-in. It is stored, so that any gateway can complete it. */
export interface SignIn {
  /** Cannot be guessed. */
  id: string;
  principal: string;
  server: string;
  /** The authorization server to which the person is sent. */
  issuer: string;
  scopes: readonly string[];
  expiresAt: number;
}

/** A sign-in that a call waits for, and the page where it starts. */
export interface NeededSignIn extends SignIn {
  /** The page of the gateway that leads to the authorization server; absent if no page can be served. */
  url?: string | undefined;
}

/** Why no token helps. */
export interface NoToken {
  reason: string;
  /** Nobody can sign in to the server, but it may want credentials of another kind. */
  headerHelps?: boolean;
}

/** What to do after a refusal: resend the request, let a person sign in, or report the reason to the client. */
export type AfterRefusal = { then: 'retry' } | { then: 'sign_in'; signIn: SignIn } | ({ then: 'fail' } & NoToken);

/** The access tokens of one account. */
export interface AccountTokens {
  /** The token to send, synchronously if it is cached and will not expire soon; `undefined` if there is none. */
  current(): string | undefined | Promise<string | undefined>;
  /** The server refused a request sent with this token, or without one. Concurrent callers share one refresh. */
  refused(token: string | undefined, challenge: AuthChallenge): Promise<AfterRefusal>;
}

export interface AccountState {
  principal: string;
  server: string;
  issuer: string;
  scopes: readonly string[];
  /** When its access token expires. */
  expiresAt?: number;
  /** Whether it can be renewed without a person. */
  renewable: boolean;
}

/** The accounts of all principals on servers that require authorization. */
export interface Accounts {
  tokens(account: AccountAt): AccountTokens;
  /**
   * Starts a sign-in that somebody wants, or returns the pending one if it covers these scopes. It does not matter whether the
   * server has refused the tokens of the last one.
   */
  signIn(account: AccountAt, challenge?: AuthChallenge): Promise<SignIn>;
  /** `undefined` if it was completed or has expired. */
  findSignIn(id: string): Promise<SignIn | undefined>;
  /** The page of the authorization server to send the browser to. */
  authorizationUrl(signInId: string): Promise<URL>;
  /** Checks the parameters of the redirect, which came to this path of the gateway; fetches the tokens and stores them. */
  complete(parameters: URLSearchParams, path?: string): Promise<SignIn>;
  /** Calls the watcher after each sign-in, here or at another gateway, until the returned function is called. */
  watch(watcher: (principal: string, server: string) => void): () => void;
  /** The accounts of a principal and the shared ones (`*`); without a principal, all accounts. */
  list(principal?: string): Promise<AccountState[]>;
  /** Revokes and deletes the tokens; `*` means the shared ones. `false` if there were none. */
  signOut(principal: string, server: string): Promise<boolean>;
  /**
   * The server was removed: deletes the tokens for it and the sign-ins that wait, those of one principal or of everybody. The tokens are
   * revoked afterwards, which nobody waits for.
   */
  forgetServer(server: string, url: string, principal?: string): Promise<void>;
}

// --- Models ------------------------------------------------------------------------------------------------------

export interface ModelReply {
  /** A `CreateMessageResult`. */
  answer: Answer;
  /** The tokens used by prompt and answer together. */
  tokens: number;
}

/** The models of the config. */
export interface Models {
  /**
   * Lets a model answer a sampling request. Rejects with a human-readable reason that contains no key; with `ModelRefused` if
   * the endpoint did not accept the request.
   */
  ask(model: string, params: Record<string, unknown>, signal: AbortSignal): Promise<ModelReply>;
}

/** The endpoint refused the request, which has used no tokens. */
export class ModelRefused extends Error {}

// --- Store -------------------------------------------------------------------------------------------------------

export interface SessionRecord {
  id: string;
  principal: string;
  createdAt: number;
  /** Refreshed from time to time while the session lives. */
  lastActiveAt: number;
  view: View;
  owner: Owner;
  /** Signs the state that the client carries between requests. */
  key?: string;
  /** The preferences of the client by server. */
  preferences?: Record<string, StoredPreferences>;
  /** The tools that a person has allowed for the rest of the session, by server. */
  remembered?: RememberedTools;
  /** The facts of the most recently used token. */
  facts?: TokenFacts;
}

/** The preferences in the record of a session; subscriptions have their own records. */
export type StoredPreferences = Pick<ServerPreferences, 'logLevel'>;

/** A resource subscription of a session. */
export interface SubscriptionRecord {
  id: string;
  sessionId: string;
  server: string;
  uri: string;
}

/** A server that a client added. */
export interface ServerRecord {
  /** Derived from owner and name. */
  id: string;
  /** The principal that added the server and alone can see it. */
  owner: string;
  name: string;
  config: ServerConfig;
  addedAt: number;
  /** The id of the session that added it. */
  addedBy: string;
}

/** The records of one session. */
export interface SessionRecords {
  session: SessionRecord;
  task: Task;
  question: Interaction;
  event: SessionEvent;
  subscription: SubscriptionRecord;
}

export type SessionRecordKind = keyof SessionRecords;

/** The contents of a session, as its records of each kind. */
export interface StoredSession {
  tasks: Task[];
  questions: Interaction[];
  events: SessionEvent[];
  subscriptions: SubscriptionRecord[];
}

/** A position in the list of dormant sessions: after the session with this id and activity time. */
export interface DormantCursor {
  at: number;
  id: string;
}

export interface DormantQuery {
  /** The owner of the sessions; all principals if absent. */
  principal?: string;
  cursor?: DormantCursor;
  limit: number;
}

/** A stored session that no gateway has in memory, with its record counts. */
export interface DormantSession {
  record: SessionRecord;
  tasks: { running: number; ended: number };
  questions: number;
}

/** What had to be dropped to restore a session. */
export interface Trimmed {
  /** The size of the remaining records. */
  bytes: number;
  /** The numbers of dropped events and questions, and of failed tasks. */
  events: number;
  questions: number;
  tasks: number;
}

/**
 * Writes the records of one session. Changes are collected and committed in one transaction. A reply or notification that
 * reports them leaves only after `settled` has resolved. Only undelivered events and open questions are kept.
 */
export interface SessionStore {
  put<K extends SessionRecordKind>(kind: K, record: SessionRecords[K]): void;
  drop(kind: Exclude<SessionRecordKind, 'session'>, id: string): void;
  /**
   * Resolves when all changes of the session so far are durable, at once if there are none. Rejects when they could not be
   * written, or when another gateway has claimed the session since.
   */
  settled(): Promise<void>;
  /**
   * For changes that must be durable before a server is contacted: waits until they are, and rejects only if they never can be, or if
   * this gateway no longer owns the session. Absent if no other gateway can use the store.
   */
  recorded?(): Promise<void>;
  /** Whether another gateway has claimed the session since, as far as is known. */
  readonly isLost?: boolean;
}

/** A session that this gateway has claimed. */
export interface ClaimedSession extends SessionStore {
  /** Increases with each claim of the session; changes with an older fence are not written. */
  readonly fence: number;
  /** As it was stored when it was claimed; absent if it is new. */
  readonly record: SessionRecord | undefined;
  /** Whether another gateway has claimed it since, as far as is known. */
  readonly isLost: boolean;
  /** A time that no gateway's clock had reached when it was claimed; absent if no other gateway can use the store. */
  readonly after?: number;
  /** Shrinks its records to this size: drops the oldest events first; tasks that are too large fail. */
  trim(maxBytes: number, keepTasksUntil: number): Promise<Trimmed>;
  load(): Promise<StoredSession>;
  /** Deletes the session and all of its records, and ends the claim. Later changes are ignored. */
  erase(): void;
  /** Ends the claim once all changes are durable or have failed; the session can then be claimed again. */
  release(): Promise<void>;
}

/** A problem found at runtime: the store is damaged, its file was deleted or replaced, or the database cannot be reached. */
export type StoreProblem = 'damaged' | 'gone' | 'unreachable';

/** A change of a server by another gateway: its new record, or `undefined` if it was removed. */
export type ServerWatcher = (id: string, record: ServerRecord | undefined) => void;

/** A gateway and its address; a gateway on stdio has none. */
export interface GatewayAddress {
  id: string;
  address?: string;
}

/** The usage of each shared limit, by limit and principal. */
export type LimitUsage = Record<string, Record<string, number>>;

export interface Renewal {
  /** The claims that other gateways have taken over. */
  lost: string[];
  /** The usage of each other gateway at its last renewal. */
  others: LimitUsage[];
}

/** Coordinates the gateways on one store. A claim is valid as long as the lease of its gateway. */
export interface ClusterStore {
  /** Identifies this gateway. */
  readonly gatewayId: string;
  /** Signs messages between gateways; shared by all of them. */
  readonly key: Buffer;
  /** How long a lease is valid without renewal. */
  readonly leaseMs: number;
  /** While true, no other gateway can have taken over the claims of this one. */
  readonly holdsLease: boolean;
  /** Publishes the address of this gateway. A previous gateway at this address is dead: its claims become free. */
  announce(address: string): Promise<void>;
  /** The gateway that holds this claim, if its lease is valid. */
  ownerOf(id: string): Promise<GatewayAddress | undefined>;
  /** All other gateways with valid leases. */
  others(): Promise<GatewayAddress[]>;
  /** Any other gateway with an address. */
  anyOther(): Promise<GatewayAddress | undefined>;
  /** Renews the lease and publishes the usage of this gateway. */
  renew(usage: LimitUsage): Promise<Renewal>;
  /** Calls the watcher when a commit finds that another gateway owns a session, until the returned function is called. */
  watchLost(watcher: () => void): () => void;
  /** Whether a gateway has left or lost its lease, so that its work must be taken over; true until `tookOver`. */
  anyGone(): Promise<boolean>;
  /** Confirms that the work reported by the last `anyGone` was taken over. Never fails. */
  tookOver(): Promise<void>;
  /** Tells other gateways that there may be work to take over. */
  notifyWorkLeft(): Promise<void>;
  /** The other gateways that own sessions of a principal. */
  gatewaysOf(principal: string): Promise<GatewayAddress[]>;
  /** The ids of the unclaimed sessions of a principal that have tasks or questions. */
  leftOf(principal: string): Promise<string[]>;
  /** The session of a principal that has this task or question. */
  sessionWith(kind: 'task' | 'question', id: string, principal: string): Promise<SessionRecord | undefined>;
}

// --- History -----------------------------------------------------------------------------------------------------

/** A position in a list: after the entry with this start time and id. */
export interface HistoryCursor {
  at: number;
  id: string;
}

export interface HistoryFilter {
  kinds: readonly EntryKind[];
  /** The owner of the entries; all principals if absent. */
  principal?: string;
  /** Whether they are unfinished or have ended. */
  active?: boolean;
  statuses?: readonly EntryStatus[];
  /** Whether a call became a task. */
  task?: boolean;
  server?: string;
  tool?: string;
  sessionId?: string;
  /** The call that asked. */
  callId?: string;
  /** Case-insensitive search in the names, ids and messages of an entry. */
  text?: string;
  /** Started at `from` or later, and before `to`. */
  from?: number;
  to?: number;
}

export interface HistoryQuery extends HistoryFilter {
  order: 'newest' | 'oldest';
  cursor?: HistoryCursor;
  limit: number;
  /** Whether to include arguments, results and params. */
  content?: boolean;
  /** Larger contents are omitted. */
  contentBytes?: number;
}

export interface HistoryRange {
  /** The number of the last written entry. */
  newest: number;
  /** A reader that stopped at a smaller number may have missed entries that were deleted since. */
  completeFrom: number;
}

export interface ServerTally {
  server: string;
  calls: number;
  errors: number;
}

/**
 * The unfinished and recently ended calls and questions of all gateways on a store. Every entry becomes visible before any entry
 * with a larger number.
 */
export interface History {
  /**
   * Atomically writes the entries, each replacing its earlier version. An ended entry is not overwritten by an unfinished one,
   * unless it was lost.
   */
  append(writes: readonly EntryWrite[]): Promise<void>;
  read(query: HistoryQuery): Promise<HistoryEntry[]>;
  count(filter: HistoryFilter): Promise<number>;
  /** The entries with these ids and their contents; unknown ids are skipped. */
  find(ids: readonly string[]): Promise<HistoryEntry[]>;
  /** The entries with numbers above `seq` in ascending order, without contents. */
  changesAfter(seq: number, limit: number, principal?: string): Promise<HistoryEntry[]>;
  range(): Promise<HistoryRange>;
  /** The number of calls per server since then, including summarized ones. */
  tally(since: number, principal?: string): Promise<ServerTally[]>;
  /** Calls the watcher when there may be new entries, from any gateway, until the returned function is called. */
  watch(watcher: () => void): () => void;
  /** Marks unfinished entries of dead gateways as lost; never those of this gateway. */
  endLost(now: number): Promise<void>;
  /** Deletes entries that ended before this time, then the oldest ended ones until the rest fits into `maxBytes`. */
  trim(endedBefore: number, maxBytes: number): Promise<void>;
}

// --- Audit record ------------------------------------------------------------------------------------------------

export interface AuditFilter {
  kinds?: readonly AuditKind[];
  /** The owner of the lines; lines without an owner are omitted. */
  owner?: string;
  /** Lines of this principal, or answered by it. */
  principal?: string;
  server?: string;
  tool?: string;
  sessionId?: string;
  /** Case-insensitive search in the line. */
  text?: string;
  /** At `from` or later, and before `to`. */
  from?: number;
  to?: number;
}

export interface AuditQuery extends AuditFilter {
  order: 'newest' | 'oldest';
  /** Starts after the line with this number, in the given order. */
  after?: number;
  limit: number;
  /**
   * Called between the steps of a long search with the number of the last line examined. If it returns false, the search ends with
   * the lines found so far; another search can continue after that number.
   */
  goOn?: (lookedAt: number) => boolean;
}

/**
 * The lines of all gateways on a store. Every line becomes visible before any line with a larger number. Lines never change.
 */
export interface AuditLog {
  /** Atomically writes the lines. Gateway and number identify a line: known ones are skipped. */
  append(lines: readonly AuditLine[]): Promise<void>;
  read(query: AuditQuery): Promise<StoredLine[]>;
  /** Deletes lines from before this time, then the oldest until the rest fits into `maxBytes`. */
  trim(before: number, maxBytes: number): Promise<void>;
}

// --- Notifications -----------------------------------------------------------------------------------------------

/** A queued notification. */
export interface QueuedNotice {
  /** Derived from target, event and subject, so that it is queued only once. */
  id: string;
  target: string;
  /** The question, task or server it concerns. */
  subject: string;
  createdAt: number;
  /** When to send it. */
  dueAt: number;
  /** No retries after this time. */
  giveUpAt: number;
  /** How long it is remembered after its end, so that it is not queued again. */
  keepUntil: number;
  /** The number of attempts so far. */
  attempts: number;
  /** The message, as JSON. */
  data: string;
}

/** A notification claimed by this gateway; `claim` identifies the attempt. */
export interface ClaimedNotice extends QueuedNotice {
  claim: string;
  /** After this time another gateway may send it. */
  until: number;
}

export interface NoticeClaim {
  target: string;
  now: number;
  /** Until then no other gateway can claim them. */
  until: number;
  limit: number;
}

/** The state of a notification, without its message. */
export interface NoticeState extends Pick<
  QueuedNotice,
  'id' | 'target' | 'subject' | 'createdAt' | 'dueAt' | 'attempts'
> {
  state: 'waiting' | 'delivered' | 'failed';
  endedAt?: number;
  /** Why the last attempt failed. */
  error?: string;
}

/** The notification queue, shared by all gateways on a store. One gateway at a time sends a notification. */
export interface Outbox {
  /** Adds notifications with unknown ids. */
  add(notices: readonly QueuedNotice[]): Promise<void>;
  /** Removes queued notifications about these subjects. */
  drop(subjects: readonly string[]): Promise<void>;
  /** The targets with due notifications, and the time of the next one. */
  due(now: number): Promise<{ targets: string[]; nextAt?: number }>;
  /** Claims due notifications and counts the attempt. */
  claim(claim: NoticeClaim): Promise<ClaimedNotice[]>;
  /**
   * Releases the claims of dead gateways: an earlier process that used the file, or a gateway whose lease ended
   * more than `graceMs` ago.
   */
  reclaim(now: number, graceMs: number): Promise<void>;
  /** Schedules a retry at `dueAt`. No effect if another gateway has claimed it since. */
  postpone(
    notice: Pick<ClaimedNotice, 'id' | 'claim'>,
    next: { dueAt: number; attempts: number; error?: string },
  ): Promise<void>;
  /** Marks it as delivered, or as given up unless another gateway has claimed it since. Without `error`, its last error stays. */
  end(
    notice: Pick<ClaimedNotice, 'id' | 'claim'>,
    outcome: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void>;
  /** Queued and failed notifications, newest first. */
  list(limit: number): Promise<NoticeState[]>;
  /**
   * Deletes expired notifications, then the oldest beyond `most`, ended ones first. Resolves with the
   * number of unsent ones among them, by target.
   */
  trim(now: number, most: number): Promise<ReadonlyMap<string, number>>;
}

// --- Secrets of accounts ------------------------------------------------------------------------------------------

/**
 * `client`: a registration with an authorization server; `tokens`: the tokens of an account; `sign_in`: a pending sign-in; `refused`: sign-ins
 * whose tokens the server refused at once.
 */
export type AccountRecordKind = 'client' | 'tokens' | 'sign_in' | 'refused';

export interface AccountRecord {
  kind: AccountRecordKind;
  id: string;
  /** The owner and the server; the principal is empty for a registration, which is shared. */
  principal: string;
  server: string;
  createdAt: number;
  /** After this time the record counts as absent; without it, the record never expires. */
  keepUntil?: number;
  /** Encrypted. */
  data: string;
}

export interface StoredAccountRecord extends AccountRecord {
  /** Changes with each write. */
  version: string;
}

/** What happened to tokens; only `signed_in` completes a pending sign-in. */
export type TokensChange = 'signed_in' | 'signed_out' | 'renewed';

export interface ChangedTokens {
  principal: string;
  server: string;
  what: TokensChange;
}

/** Called when another gateway has changed tokens; without a value, any tokens may have changed. */
export type TokensWatcher = (changed?: ChangedTokens) => void;

/** Stores accounts on servers. Only a caller that knows the version of a record can change it. */
export interface AccountStore {
  isEmpty(): Promise<boolean>;
  get(kind: AccountRecordKind, id: string, now: number): Promise<StoredAccountRecord | undefined>;
  /** The oldest first. */
  list(
    kind: AccountRecordKind,
    filter: { principal?: string; server?: string },
    now: number,
  ): Promise<StoredAccountRecord[]>;
  /**
   * Writes the record if its version is `expected`, if there is none (`'none'`), or always (`'any'`). Resolves with the new version, or with
   * `undefined` if the record was changed or deleted meanwhile. Ends the claim of the record.
   */
  put(record: AccountRecord, expected: { version: string } | 'none' | 'any', now: number): Promise<string | undefined>;
  /** Deletes the record if it has this version and, with `by`, if that caller still holds the claim. */
  drop(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'principal' | 'server' | 'version'>,
    by?: string,
  ): Promise<boolean>;
  /**
   * Until it expires, no other caller can claim the record. `false` if it was claimed, changed or deleted meanwhile. A shared store uses
   * its own clock, because the clocks of the gateways may differ.
   */
  claim(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>,
    claim: { by: string; now: number; ms: number },
  ): Promise<boolean>;
  /** Ends a claim early. */
  release(record: Pick<AccountRecord, 'kind' | 'id'>, by: string): Promise<void>;
  /** Deletes expired records, then the oldest sign-ins beyond the limits per principal and in total. */
  trim(now: number, most: { perPrincipal: number; total: number }): Promise<void>;
  /**
   * Reports token changes by other gateways until the returned function is called: a write with an expected version is a renewal,
   * any other write a sign-in.
   */
  watch(watcher: TokensWatcher): () => void;
}

// --- The store ---------------------------------------------------------------------------------------------------

/** The durable state of all sessions, which several gateways may share. The gateway that claims a session owns it. */
export interface Store {
  /** If set, new work should be refused, while existing work continues. */
  readonly problem: StoreProblem | undefined;
  /** Absent if no other gateway can use the store. */
  readonly cluster: ClusterStore | undefined;
  /** Recent calls and questions. Nothing waits for it or depends on it. */
  readonly history: History;
  /** The audit record, which is loaded on use. */
  openAudit(): Promise<AuditLog>;
  /** Queued and recently sent notifications. Empty unless `notify` is configured. */
  readonly outbox: Outbox;
  /** Registrations, tokens and sign-ins for servers that require authorization. */
  readonly accounts: AccountStore;
  /** Claims a stored or new session; `undefined` while it is claimed, here or by another gateway. */
  claim(sessionId: string): Promise<ClaimedSession | undefined>;
  /**
   * The sessions that continue without their clients: `resumes` holds for them, or they have an unfinished task. Excludes sessions
   * that another gateway has claimed; may return only some of very many.
   */
  sessionsToResume(): Promise<Pick<SessionRecord, 'id' | 'principal'>[]>;
  /** The unclaimed sessions, most recently used first. Reads only the session records. */
  dormantSessions(query: DormantQuery): Promise<DormantSession[]>;
  /** The sessions of a principal that belong to a state. */
  states(principal: string): Promise<SessionRecord[]>;
  /** Deletes unclaimed sessions that were last active at this time or earlier. */
  dropIdle(before: number): Promise<void>;
  /** Deletes expired tasks and counters. */
  dropOverdue(now: number): Promise<void>;
  /** Adds to a counter that starts at 0 and is kept until `keepUntil`. Resolves with its value once durable. */
  addToCounter(name: string, amount: number, keepUntil: number): Promise<number>;
  /** A random key of this name, created on first use and shared by all gateways on the store. */
  secret(name: string): Promise<Buffer>;
  servers(): Promise<ServerRecord[]>;
  putServer(record: ServerRecord): void;
  dropServer(id: string): void;
  /** Reports changes by other gateways until the returned function is called. */
  watchServers(watcher: ServerWatcher): () => void;
  /** Resolves when all changes so far are durable, of all sessions and servers. */
  settled(): Promise<void>;
  close(): Promise<void>;
}
