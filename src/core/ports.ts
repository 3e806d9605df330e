/** What the core needs from outside. `south` and `store` implement it, `main.ts` puts them together. */

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
  /** How the gateway signs in at the server, beyond what the server says itself; `false`: it never does. */
  auth?: ServerAuth | false;
}

/** What the config says of the account of the gateway, or of its principals, at a server. */
export interface ServerAuth {
  grant: 'authorization_code' | 'client_credentials';
  /** A client that is registered at the authorization server already. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** The client proves who it is by signing with this key, in place of a secret. */
  privateKeyFile?: string | undefined;
  keyId?: string | undefined;
  algorithm?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** The authorization server, where the server names several or none. */
  issuer?: string | undefined;
  /** A client ID metadata document in place of that of the gateway. */
  clientMetadataUrl?: string | undefined;
  /** Accepts an authorization server that does not say that it checks PKCE. */
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

/** In what servers differ, as far as others have to know. */
export interface ServerTraits {
  /** It has a session with each client, which lasts for many requests. Otherwise each request stands for itself. */
  sessions: boolean;
  /** It asks in place of the result, and gets the answers with the next request. */
  asksInRounds: boolean;
  /** It is told with each request which log messages the client wants, and what the client can be asked. */
  declaredPerRequest: boolean;
}

/** What a connected server told about itself. */
export interface ServerInfo {
  protocolVersion: string;
  traits: ServerTraits;
  /** Whether it keeps tool calls as tasks of its own, of which generation, and what can be asked of them. */
  tasks?: { generation: string; list: boolean; cancel: boolean };
  capabilities: Record<string, unknown>;
  /** Its name and version, and whatever else it tells of itself. */
  implementation?: { name: string; version: string; [field: string]: unknown };
  instructions?: string;
  /** The result of its introduction as it came; absent in a session that an earlier run of the program began. */
  initializeResult?: Record<string, unknown>;
}

export type ConnectionStatus =
  | { state: 'idle' }
  | { state: 'connecting' }
  | { state: 'connected'; since: number; info: ServerInfo }
  | { state: 'waiting'; attempt: number; retryAt: number; error: string; failure?: ServerFailureKind }
  | { state: 'failed'; error: string; failure?: ServerFailureKind }
  | { state: 'closed' };

/** The requests that were open when a question came and may have asked it. */
export interface Candidates {
  /** Ids of the calls that have not ended since. */
  calls: string[];
  /** Whether requests other than calls were open as well. */
  others: boolean;
}

/** The request that asked. With neither field, no request that was open can have asked. */
export interface Asker {
  /** The call, or the other request with an id, that certainly asked. */
  callId?: string;
  /** The requests that may have asked, where it is not known which one did. */
  candidates?: Candidates;
  /** Aborted when the candidates that are not calls have ended. */
  othersEnded?: AbortSignal;
}

/** A question as it arrives. */
export interface IncomingQuestion extends Asker {
  kind: InteractionKind;
  params: Record<string, unknown>;
  /** The task that asks, where that is known without a call. */
  taskId?: string;
  /** Aborted when the server withdraws the question. */
  withdrawn: AbortSignal;
  /** How long it may wait for an answer, where the server said so. */
  timeoutMs?: number;
  /** The answer does not need the connection that the question came on: the question outlives its loss. */
  detached?: boolean;
  /** What the server knows a detached question of a call by: asked again, it is the same one. */
  key?: string;
  /** Aborted when the server has the answer, which until then must not be lost. */
  taken?: AbortSignal;
  /** Set by the gateway itself, which asks whether a call may be made. */
  approval?: Approval;
  /** Set by the gateway itself, which asks the person to sign in at the server. */
  signIn?: AskedSignIn;
  /** A person answers it, not the tools of the hub. */
  approver?: 'person';
  /** Called as soon as the session accepts an answer, before it is stored: from then on no other session may answer. */
  onAnswered?: () => void;
  /** Asked by the gateway itself: rules do not answer it. */
  fromGateway?: boolean;
  /** The message in the words of the server, where the params say more. */
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

/** Whether a reconnected server still knows us (`blip`) or started anew (`restart`). */
export type Arrival = 'first' | 'blip' | 'restart';

/** The request that a notification belongs to; `unknown` if it may belong to several. */
export type RelatedRequest = { requestId: string } | 'no request' | 'unknown';

/** Receives what happens on one connection. */
export interface ConnectionSink {
  connected(arrival: Arrival, info: ServerInfo): void;
  lost(reason: string): void;
  notification(method: string, params: Record<string, unknown>): void;
  log(entry: ServerLog): void;
  /** Every notification of the server as it came, logs included, with the request that it belongs to. */
  rawNotification?(method: string, params: Record<string, unknown> | undefined, relatedRequest: RelatedRequest): void;
  /** Progress of a task that the server keeps, and that no call of this connection follows. */
  taskProgress?(taskId: string, progress: Progress): void;
  /** Resolves with the answer; rejects with an error that goes back to the server. */
  question(question: IncomingQuestion): Promise<Answer>;
}

export interface Progress {
  progress: number | BigNumber;
  total?: number | BigNumber | undefined;
  message?: string | undefined;
  /** What else the server said with it. */
  [field: string]: unknown;
}

/** A task that a server keeps, in the words that all servers share. */
export interface ServerTask {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** How long the server keeps the task after it was made, in milliseconds; `null` without limit. */
  ttl: number | null;
  /** How often the server wants to be asked, in milliseconds. */
  pollInterval?: number;
}

/** Why a call is aborted whose work on the server should go on, if the server keeps it: only nobody follows it any more. */
export const LEAVE_RUNNING = Symbol('leave running');

export interface OutgoingCall {
  id: string;
  tool: string;
  args: Record<string, unknown>;
  /** Sent without any arguments. */
  bare?: boolean;
  /** Goes along as the request's `_meta`. */
  meta?: Record<string, unknown>;
  /** Whatever else goes along with it. */
  more?: Record<string, unknown>;
  /** Whether the server may keep the call as a task of its own: wherever it offers that, or only if it insists. */
  tasks: 'use' | 'avoid';
  /** How long the server should keep such a task. */
  taskTtlMs?: number;
  /** Aborted to stop the work on the server, unless for the reason `LEAVE_RUNNING`. */
  signal: StopSignal;
  onProgress: (progress: Progress) => void;
  /** The server keeps the call as this task; told again whenever the task changes. */
  onTask: (task: ServerTask) => void;
  /** Called before the call is sent for the first time; the call is sent once the promise, if there is one, has resolved. */
  onSending?: () => Promise<void> | undefined;
  /** Where the call continues from now on; `undefined` if it depends on its connection again. Resolves once stored. */
  onCheckpoint: (checkpoint: ResumePoint | undefined) => Promise<void>;
  /** What the server asks now is all before somebody: it does not want to know any more what an earlier run was asked. */
  onAllAsked?: () => void;
}

/** A request that is passed on as it is, and its result likewise. */
export interface OutgoingRequest {
  /** Questions on its response stream, and those of its rounds, belong to this id. */
  id: string;
  method: string;
  params: Record<string, unknown>;
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
  /** What to do when the server asks in place of a result: return that, or ask the session and send the request again. */
  rounds: 'return' | 'answer';
}

export type CallOutcome =
  | { kind: 'result'; result: CallResult }
  | { kind: 'error'; error: TaskError }
  /** The server ended its own task. */
  | { kind: 'cancelled'; reason: string }
  /** `signIn`: the server refused the call, or what it needs to go on, until a person has signed in. */
  | { kind: 'unreachable'; reason: string; failure?: ServerFailureKind; signIn?: NeededSignIn }
  | { kind: 'lost'; reason: string; failure?: ServerFailureKind };

/** One session's connection to one server. */
export interface Connection {
  readonly status: ConnectionStatus;
  /** Connects unless connected; callers at the same time share one attempt. */
  ready(): Promise<ServerInfo>;
  call(call: OutgoingCall): Promise<CallOutcome>;
  /** Continues a call from a checkpoint. */
  resume(checkpoint: ResumePoint, call: OutgoingCall): Promise<CallOutcome>;
  request(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<Record<string, unknown>>;
  relay(request: OutgoingRequest): Promise<Record<string, unknown>>;
  /** Tells the server something, if it is there. */
  notify(method: string, params: Record<string, unknown> | undefined): void;
  /** Bring what the server says to it. */
  subscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>>;
  unsubscribe(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>>;
  /**
   * With `keepSession` the server is not told that we leave, so that somebody can go on with the session later; with
   * `silently` it is told nothing at all, because somebody does so already.
   */
  close(options?: { keepSession?: boolean; silently?: boolean }): Promise<void>;
}

/** What a client asked a server for until it says otherwise. */
export interface ServerPreferences {
  /** The resources of whose changes it wants to hear. */
  uris: string[];
  logLevel?: string;
}

/** Who brought a server to the gateway. */
export type AddedBy = 'config file' | 'client';

export interface ClientTraits {
  principal: string;
  /** Servers of clients may not be at every address. */
  addedBy: AddedBy;
  /** Whether servers are told that they may ask for its folders; others can be asked by somebody behind a gateway. */
  roots: boolean;
  /** What the client had asked for before there was this connection. */
  preferences: ServerPreferences;
}

export interface Backends {
  connect(server: string, config: ServerConfig, sink: ConnectionSink, traits: ClientTraits): Connection;
}

// --- Identity ----------------------------------------------------------------------------------------------------

/** What a client may do: use servers, also answer questions for its principal in the console, or see and answer everything. */
export type Scope = 'use' | 'answer' | 'operate';

/** What a token says, as far as access rules and quotas name it: their scopes, and the values of claims that they look for. */
export interface TokenFacts {
  scopes: readonly string[];
  claims: Readonly<Record<string, readonly string[]>>;
}

/** Who makes a request. */
export interface Identity {
  principal: string;
  /** Absent if the token says nothing that the configuration names, and for tokens of the configuration. */
  facts?: TokenFacts | undefined;
}

/** What an authorization server says of whoever has a token. */
export interface Bearer extends Identity {
  /** Made of issuer and subject: tokens change. */
  principal: string;
  /** What the token was issued for; `any` if the configuration accepts that, whatever it is. */
  audiences: readonly string[] | 'any';
  /** The greatest one that it has; each one contains those before it. */
  scope: Scope | undefined;
  expiresAt: number;
}

/** Checks the tokens of authorization servers. */
export interface TokenVerifier {
  /**
   * At once for a token that was checked lately. Throws a `GatewayError` if the token is not valid, or cannot be checked now.
   */
  verify(token: string): Bearer | Promise<Bearer>;
}

// --- People at authorization servers -----------------------------------------------------------------------------

/** An authorization server that people can sign in with. */
export interface LoginChoice {
  issuer: string;
  /** What people call it. */
  title: string;
  /** The id of the gateway there. */
  clientId: string;
  /** What access rules and quotas look for in tokens; absent if they look for nothing. */
  asks?: string | undefined;
}

/** What the gateway has to know when a browser comes back. The browser carries it, sealed, so that any gateway can go on with it. */
export interface PendingLogin {
  issuer: string;
  state: string;
  nonce: string;
  /** Of PKCE. */
  verifier: string;
  redirectUri: string;
}

/** Who has signed in. */
export interface LoggedIn extends Identity {
  /** The greatest one that the person has; without one, they may do nothing. */
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
  /** The browser came back with these parameters: checks them, and asks the issuer who it is. */
  complete(pending: PendingLogin, parameters: URLSearchParams): Promise<LoggedIn>;
  /** The page where the person signs out at the issuer and comes back to `returnTo`, if it has one. */
  endUrl(issuer: string, returnTo: string, idToken?: string): Promise<string | undefined>;
}

// --- Accounts at servers -----------------------------------------------------------------------------------------

/** A server that may ask who its client is, and the principal that uses it. */
export interface AccountAt {
  principal: string;
  server: string;
  config: HttpServerConfig;
}

/** How a server refused a request: the status, and what its `WWW-Authenticate` header says. */
export interface AuthChallenge {
  status: 401 | 403;
  /** Such as `invalid_token` or `insufficient_scope`. */
  error?: string;
  scope?: string;
  resourceMetadata?: string;
}

/** A sign-in that a person has to do. It is stored, so any gateway can go on with it. */
export interface SignIn {
  /** Cannot be guessed. */
  id: string;
  principal: string;
  server: string;
  /** The authorization server that the person is sent to. */
  issuer: string;
  scopes: readonly string[];
  expiresAt: number;
}

/** A sign-in that a call waits for, and where the person begins it. */
export interface NeededSignIn extends SignIn {
  /** The page of the gateway that leads to the authorization server; absent if no page can be served. */
  url?: string | undefined;
}

/** Why no token helps. */
export interface NoToken {
  reason: string;
  /** Nobody can sign in at the server, but it may want credentials of another kind. */
  headerHelps?: boolean;
}

/** What to do after a refusal: send the request again, let a person sign in, or tell the client the reason. */
export type AfterRefusal = { then: 'retry' } | { then: 'sign_in'; signIn: SignIn } | ({ then: 'fail' } & NoToken);

/** The access tokens of one account. */
export interface AccountTokens {
  /** The token to send, at once if it is known and will not expire soon; `undefined` if there is none. */
  current(): string | undefined | Promise<string | undefined>;
  /** The server refused a request that was sent with this token, or without one. Callers at the same time share one refresh. */
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

/** The accounts of all principals at servers that authorize their clients. */
export interface Accounts {
  tokens(account: AccountAt): AccountTokens;
  /**
   * Begins a sign-in that somebody wants, or returns the one that waits already for at least these scopes. It does not matter whether the
   * server has refused the tokens of the last one.
   */
  signIn(account: AccountAt, challenge?: AuthChallenge): Promise<SignIn>;
  /** `undefined` if it is over. */
  findSignIn(id: string): Promise<SignIn | undefined>;
  /** The page of the authorization server to send the browser to. */
  authorizationUrl(signInId: string): Promise<URL>;
  /** The browser came back with these parameters, to this path of the gateway: checks them, gets the tokens and stores them. */
  complete(parameters: URLSearchParams, path?: string): Promise<SignIn>;
  /** Calls the watcher when somebody has signed in, here or at another gateway, until the returned function is called. */
  watch(watcher: (principal: string, server: string) => void): () => void;
  /** Those of a principal and those that all share (`*`), or those of everybody. */
  list(principal?: string): Promise<AccountState[]>;
  /** Revokes and deletes the tokens, with `*` those that all share. `false` if there were none. */
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
  /** How many tokens prompt and answer took together. */
  tokens: number;
}

/** The models of the config. */
export interface Models {
  /**
   * Lets a model answer a sampling request. Rejects with a reason for people, in which there is no key; with `ModelRefused` if
   * the endpoint did not take the request.
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
  /** Signs what its client carries for it from one request to the next. */
  key?: string;
  /** What the client asked each server for until it says otherwise. */
  preferences?: Record<string, StoredPreferences>;
  /** The tools that a person has allowed for the rest of the session, by server. */
  remembered?: RememberedTools;
  /** What the token said that was used last in it, as far as access rules and quotas ask. */
  facts?: TokenFacts;
}

/** What the record of a session keeps of a preferences; subscriptions are records of their own. */
export type StoredPreferences = Pick<ServerPreferences, 'logLevel'>;

/** A resource of whose changes the client of a session wants to hear. */
export interface SubscriptionRecord {
  id: string;
  sessionId: string;
  server: string;
  uri: string;
}

/** A server that a client added. */
export interface ServerRecord {
  /** Made of owner and name. */
  id: string;
  /** The principal that added the server: nobody else can see it. */
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

/** A place in the list of dormant sessions: after the one that was last active then and has this id. */
export interface DormantCursor {
  at: number;
  id: string;
}

export interface DormantQuery {
  /** Whose sessions; those of all principals if absent. */
  principal?: string;
  cursor?: DormantCursor;
  limit: number;
}

/** A session that is stored and that no gateway has in memory, with the numbers of its records. */
export interface DormantSession {
  record: SessionRecord;
  tasks: { running: number; ended: number };
  questions: number;
}

/** What had to be left out so that a session can be restored. */
export interface Trimmed {
  /** What its records take now. */
  bytes: number;
  /** How many of each kind were dropped, or have failed for that reason. */
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
   * For what must be on record before a server hears of it: waits until it is, and rejects only when it never can be, or when
   * this gateway does not have the session any more. Absent if no other gateway can use the store: then nobody else can go on with what is not stored.
   */
  recorded?(): Promise<void>;
  /** Whether another gateway has claimed the session since, as far as is known. */
  readonly isLost?: boolean;
}

/** A session that this gateway has claimed. */
export interface ClaimedSession extends SessionStore {
  /** Grows with each claim of the session: changes with an older number are not written. */
  readonly fence: number;
  /** As it was stored when it was claimed; absent if it is new. */
  readonly record: SessionRecord | undefined;
  /** Whether another gateway has claimed it since, as far as is known. */
  readonly isLost: boolean;
  /** A time that no gateway's clock had reached when it was claimed; absent if no other gateway can use the store. */
  readonly after?: number;
  /** Makes its records fit into so many bytes: the oldest events go first; tasks that are too large fail. */
  trim(maxBytes: number, keepTasksUntil: number): Promise<Trimmed>;
  load(): Promise<StoredSession>;
  /** Deletes the session and all of its records, and ends the claim. Later changes are ignored. */
  erase(): void;
  /** Ends the claim once all changes are durable, or were found not to be: the session can be claimed again. */
  release(): Promise<void>;
}

/** Found while the store is in use: it is damaged, its file was deleted or replaced, or the database cannot be reached. */
export type StoreProblem = 'damaged' | 'gone' | 'unreachable';

/** A change of a server by another gateway: its new record, or `undefined` if it was removed. */
export type ServerWatcher = (id: string, record: ServerRecord | undefined) => void;

/** A gateway, and where others reach it; one that serves standard input cannot be reached. */
export interface GatewayAddress {
  id: string;
  address?: string;
}

/** How much of each limit of the gateways is in use, by the name of the limit and by principal. */
export type LimitUsage = Record<string, Record<string, number>>;

export interface Renewal {
  /** What other gateways have claimed since. */
  lost: string[];
  /** What each of the other gateways used when it last renewed its lease. */
  others: LimitUsage[];
}

/** What the gateways on one store know of each other. A claim holds as long as the lease of its gateway, which is renewed. */
export interface ClusterStore {
  /** Tells this gateway from others. */
  readonly gatewayId: string;
  /** Signs what gateways tell each other; the same for all of them. */
  readonly key: Buffer;
  /** How long a lease holds without being renewed. */
  readonly leaseMs: number;
  /** No other gateway can have claimed what this one has. */
  readonly holdsLease: boolean;
  /** Makes known where others reach this gateway. One that was there before is gone: what it claimed can be claimed. */
  announce(address: string): Promise<void>;
  /** The gateway that has claimed this, if its lease holds. */
  ownerOf(id: string): Promise<GatewayAddress | undefined>;
  /** All other gateways whose leases hold. */
  others(): Promise<GatewayAddress[]>;
  /** Some other gateway that can be reached. */
  anyOther(): Promise<GatewayAddress | undefined>;
  /** Renews the lease, and tells others what this gateway uses. */
  renew(usage: LimitUsage): Promise<Renewal>;
  /** Calls the watcher when a commit finds that another gateway has a session, until the returned function is called. */
  watchLost(watcher: () => void): () => void;
  /** Whether a gateway has left or its lease has ended, so that somebody has to go on with its work; true until `tookOver`. */
  anyGone(): Promise<boolean>;
  /** The work that `anyGone` was last asked about goes on. Never fails. */
  tookOver(): Promise<void>;
  /** Tells other gateways that there may be work to go on with. */
  tellWorkLeft(): Promise<void>;
  /** The other gateways that have sessions of a principal. */
  gatewaysOf(principal: string): Promise<GatewayAddress[]>;
  /** The ids of the sessions of a principal that have tasks or questions, and that no gateway has. */
  leftOf(principal: string): Promise<string[]>;
  /** The session of a principal that has this task or question. */
  sessionWith(kind: 'task' | 'question', id: string, principal: string): Promise<SessionRecord | undefined>;
}

// --- History -----------------------------------------------------------------------------------------------------

/** A place in a list: after the entry that began at this time and has this id. */
export interface HistoryCursor {
  at: number;
  id: string;
}

export interface HistoryFilter {
  kinds: readonly EntryKind[];
  /** Whose entries; those of all principals if absent. */
  principal?: string;
  /** Whether they go on, or have ended. */
  active?: boolean;
  statuses?: readonly EntryStatus[];
  /** Whether a call became a task. */
  task?: boolean;
  server?: string;
  tool?: string;
  sessionId?: string;
  /** Of the call that asks a question. */
  callId?: string;
  /** A part of the names, ids and messages of an entry, in upper or lower case. */
  text?: string;
  /** They began at `from` or later, and before `to`. */
  from?: number;
  to?: number;
}

export interface HistoryQuery extends HistoryFilter {
  order: 'newest' | 'oldest';
  cursor?: HistoryCursor;
  limit: number;
  /** Whether arguments, results and params are read, too. */
  content?: boolean;
  /** Larger ones are left out. */
  contentBytes?: number;
}

export interface HistoryRange {
  /** The number of the entry that was written last. */
  newest: number;
  /** Who has read only up to a smaller number may have missed entries that were deleted since. */
  completeFrom: number;
}

export interface ServerTally {
  server: string;
  calls: number;
  errors: number;
}

/**
 * The calls and questions of all gateways on a store, with those that have ended lately. Every entry is visible with its number
 * before any entry with a larger number is.
 */
export interface History {
  /**
   * Writes all of the entries, each over its earlier version, or none. An entry that has ended is not overwritten with one that
   * goes on, unless it was lost.
   */
  append(writes: readonly EntryWrite[]): Promise<void>;
  read(query: HistoryQuery): Promise<HistoryEntry[]>;
  count(filter: HistoryFilter): Promise<number>;
  /** The entries with these ids, with their contents; unknown ones are left out. */
  find(ids: readonly string[]): Promise<HistoryEntry[]>;
  /** The entries with larger numbers than `seq`, in this order, without contents. */
  changesAfter(seq: number, limit: number, principal?: string): Promise<HistoryEntry[]>;
  range(): Promise<HistoryRange>;
  /** How many calls each server had since then, with those that only count. */
  tally(since: number, principal?: string): Promise<ServerTally[]>;
  /** Calls the watcher when there may be new entries, from any gateway, until the returned function is called. */
  watch(watcher: () => void): () => void;
  /** Ends the entries that go on although the gateway that wrote them is gone. Those of this gateway are never lost. */
  endLost(now: number): Promise<void>;
  /** Deletes what ended before that time, and then what ended first until the rest fits into so many bytes. */
  trim(endedBefore: number, maxBytes: number): Promise<void>;
}

// --- Audit record ------------------------------------------------------------------------------------------------

export interface AuditFilter {
  kinds?: readonly AuditKind[];
  /** Whose lines; those of nobody are left out. */
  owner?: string;
  /** Of this principal, or answered by it. */
  principal?: string;
  server?: string;
  tool?: string;
  sessionId?: string;
  /** A part of the line, in upper or lower case. */
  text?: string;
  /** They happened at `from` or later, and before `to`. */
  from?: number;
  to?: number;
}

export interface AuditQuery extends AuditFilter {
  order: 'newest' | 'oldest';
  /** Begins after the line with this number, in the given order. */
  after?: number;
  limit: number;
  /**
   * Asked between the pieces of a long search, with the number of the last line that was looked at. If it says no, the search ends with
   * the lines found so far; another one can go on after that number.
   */
  goOn?: (lookedAt: number) => boolean;
}

/**
 * The lines of all gateways on a store. Every line is visible with its number before any line with a larger number is. Nothing changes a
 * line.
 */
export interface AuditLog {
  /** Writes all of the lines or none. A line with a gateway and a number there that is known already is the same line. */
  append(lines: readonly AuditLine[]): Promise<void>;
  read(query: AuditQuery): Promise<StoredLine[]>;
  /** Deletes the lines that happened before that time, and then the oldest until the rest fits into so many bytes. */
  trim(before: number, maxBytes: number): Promise<void>;
}

// --- Notifications -----------------------------------------------------------------------------------------------

/** A notification that waits to be sent. */
export interface QueuedNotice {
  /** The same for the same target, event and subject, so that it is queued once. */
  id: string;
  target: string;
  /** The question, task or server that it is about. */
  subject: string;
  createdAt: number;
  /** When it is to be sent. */
  dueAt: number;
  /** After that time it is not tried again. */
  giveUpAt: number;
  /** After its end it is known until then, so that it is not queued again. */
  keepUntil: number;
  /** How often it was tried to send it. */
  attempts: number;
  /** The message, as JSON. */
  data: string;
}

/** One that this gateway sends; with `claim` it tells its own attempt from those of others. */
export interface ClaimedNotice extends QueuedNotice {
  claim: string;
  /** From then on, another gateway may send it. */
  until: number;
}

export interface NoticeClaim {
  target: string;
  now: number;
  /** Until then, no other gateway gets them. */
  until: number;
  limit: number;
}

/** What became of a notification, without its message. */
export interface NoticeState extends Pick<
  QueuedNotice,
  'id' | 'target' | 'subject' | 'createdAt' | 'dueAt' | 'attempts'
> {
  state: 'waiting' | 'delivered' | 'failed';
  endedAt?: number;
  /** Why the last attempt failed. */
  error?: string;
}

/** The queue of notifications, which all gateways on a store share. A notification is sent by one of them at a time. */
export interface Outbox {
  /** Adds those whose ids are not known. */
  add(notices: readonly QueuedNotice[]): Promise<void>;
  /** Removes those that wait and are about one of the subjects. */
  drop(subjects: readonly string[]): Promise<void>;
  /** The targets of those that are due, and when the next one is. */
  due(now: number): Promise<{ targets: string[]; nextAt?: number }>;
  /** Claims some that are due, and counts the attempt. */
  claim(claim: NoticeClaim): Promise<ClaimedNotice[]>;
  /**
   * Makes those due that gateways have claimed which are gone: another run of the program that used the file, or one whose lease ended
   * more than `graceMs` ago.
   */
  reclaim(now: number, graceMs: number): Promise<void>;
  /** To be tried again at `dueAt`. Without effect if another gateway has claimed it since. */
  postpone(
    notice: Pick<ClaimedNotice, 'id' | 'claim'>,
    next: { dueAt: number; attempts: number; error?: string },
  ): Promise<void>;
  /** It was delivered; or it is given up, unless another gateway has claimed it since. Without another, its last error stays. */
  end(
    notice: Pick<ClaimedNotice, 'id' | 'claim'>,
    outcome: { state: 'delivered' | 'failed'; at: number; error?: string },
  ): Promise<void>;
  /** Those that wait and those that failed, the newest first. */
  list(limit: number): Promise<NoticeState[]>;
  /**
   * Deletes what need not be known any more, and then the oldest beyond so many: those that have ended first. Resolves with the
   * number of those that were still to be sent, by target.
   */
  trim(now: number, most: number): Promise<ReadonlyMap<string, number>>;
}

// --- Secrets of accounts ------------------------------------------------------------------------------------------

/**
 * `client`: a registration at an authorization server; `tokens` of an account; `sign_in`: one that waits for a person; `refused`: sign-ins
 * whose tokens the server refused at once.
 */
export type AccountRecordKind = 'client' | 'tokens' | 'sign_in' | 'refused';

export interface AccountRecord {
  kind: AccountRecordKind;
  id: string;
  /** Whose it is, and at which server; the principal is empty for a registration, which all share. */
  principal: string;
  server: string;
  createdAt: number;
  /** From then on it counts as absent; kept without limit if absent. */
  keepUntil?: number;
  /** Encrypted. */
  data: string;
}

export interface StoredAccountRecord extends AccountRecord {
  /** Another one after each write. */
  version: string;
}

/** What happened to tokens: those who wait for a sign-in wait on after anything else. */
export type TokensChange = 'signed_in' | 'signed_out' | 'renewed';

export interface ChangedTokens {
  principal: string;
  server: string;
  what: TokensChange;
}

/** A change of tokens by another gateway; without values, any tokens may have changed. */
export type TokensWatcher = (changed?: ChangedTokens) => void;

/** What gateways know of accounts at servers. A record is changed only by a caller who knows its version. */
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
   * Writes the record if its version is `expected`, if there is none (`'none'`), or in any case. Resolves with the new version, or with
   * nothing if it was changed or deleted meanwhile. Ends the claim of the record.
   */
  put(record: AccountRecord, expected: { version: string } | 'none' | 'any', now: number): Promise<string | undefined>;
  /** Deletes the record if it has this version, and if the claim is `by` somebody, also only if nobody else has claimed it since. */
  drop(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'principal' | 'server' | 'version'>,
    by?: string,
  ): Promise<boolean>;
  /**
   * For so long, no other caller can claim it. `false` if it was claimed, changed or deleted meanwhile. A store that gateways share goes by
   * its own clock, since those of the gateways may differ.
   */
  claim(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>,
    claim: { by: string; now: number; ms: number },
  ): Promise<boolean>;
  /** Ends a claim before its time. */
  release(record: Pick<AccountRecord, 'kind' | 'id'>, by: string): Promise<void>;
  /** Deletes what is over, and then the oldest sign-ins beyond so many for each principal, and in all. */
  trim(now: number, most: { perPrincipal: number; total: number }): Promise<void>;
  /**
   * Reports changes of tokens by other gateways until the returned function is called: one that writes a certain version renews them,
   * and any other one signs in.
   */
  watch(watcher: TokensWatcher): () => void;
}

// --- The store ---------------------------------------------------------------------------------------------------

/** The durable state of all sessions, which several gateways may share. A session belongs to the gateway that claimed it. */
export interface Store {
  /** Why nothing new should come, while what is there goes on. */
  readonly problem: StoreProblem | undefined;
  /** Absent if no other gateway can use the store. */
  readonly cluster: ClusterStore | undefined;
  /** What happened lately. Nothing waits for it, and nothing else depends on it. */
  readonly history: History;
  /** The audit record, which is loaded on use. */
  openAudit(): Promise<AuditLog>;
  /** Notifications that wait, or have been sent lately. Empty unless `notify` is configured. */
  readonly outbox: Outbox;
  /** Registrations, tokens and sign-ins at servers that authorize their clients. */
  readonly accounts: AccountStore;
  /** Claims a session, stored or new; `undefined` while it is claimed already, here or by another gateway. */
  claim(sessionId: string): Promise<ClaimedSession | undefined>;
  /**
   * The sessions that go on without their clients: `resumes` holds for them, or they have a task that has not ended. Those that
   * another gateway has claimed are left out, and of very many some.
   */
  sessionsToResume(): Promise<Pick<SessionRecord, 'id' | 'principal'>[]>;
  /** The sessions that no gateway has claimed, the one that was used last first. Only their own records are read. */
  dormantSessions(query: DormantQuery): Promise<DormantSession[]>;
  /** The sessions of a principal that belong to a state. */
  states(principal: string): Promise<SessionRecord[]>;
  /** Deletes the sessions that are not claimed and were last active at that time or earlier. */
  dropIdle(before: number): Promise<void>;
  /** Deletes the ended tasks and the counters that need not be kept any longer. */
  dropOverdue(now: number): Promise<void>;
  /** Adds to a counter, which begins with 0 and is kept until then. Resolves with its value once that is durable. */
  addToCounter(name: string, amount: number, keepUntil: number): Promise<number>;
  /** A random key of this name, which is made on first use and lasts as long as the store; the same for all gateways on it. */
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
