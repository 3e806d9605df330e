/** The API items that the console and commands use. docs/API.md describes them. */

export type Json = Record<string, unknown>;

export type QuestionStatus =
  | 'open'
  | 'accepted'
  | 'declined'
  | 'cancelled'
  | 'completed'
  | 'expired'
  | 'rejected'
  | 'lost';

export interface Question {
  id: string;
  seq: number;
  kind: 'elicitation' | 'sampling' | 'roots';
  mode?: 'form' | 'url';
  status: QuestionStatus;
  server: string;
  tool?: string;
  callId?: string;
  sessionId: string;
  principal: string;
  program?: string;
  createdAt: number;
  expiresAt?: number;
  endedAt?: number;
  answeredBy?: { principal: string; via: string; name?: string };
  reason?: string;
  message?: string;
  /** As the server sent them; not in events. */
  params?: Json;
  /** The params are too large for lists, or to store. */
  truncated?: boolean;
  /** The arguments of the asking call. */
  arguments?: Json;
  /** The gateway itself asks whether the call may be made. */
  /** The gateway asks the person to sign in to the server. */
  signIn?: true;
  approval?: { tool: string; argumentsHash: string; approver?: string; decision?: string };
  /** The client also shows the question. */
  presented?: boolean;
  /** A field looks like a password. */
  secret?: boolean;
}

export type CallStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'lost';

export interface Wait {
  from: number;
  to?: number;
  questionId: string;
}

export interface Call {
  id: string;
  seq: number;
  taskId?: string;
  server: string;
  tool: string;
  sessionId: string;
  principal: string;
  program?: string;
  view: string;
  startedAt: number;
  endedAt?: number;
  status: CallStatus;
  isError?: boolean;
  progress?: { progress: number; total?: number; message?: string };
  statusMessage?: string;
  waits: Wait[];
  argumentBytes: number;
  resultBytes?: number;
  truncated?: boolean;
  arguments?: unknown;
  result?: unknown;
  error?: { code?: number | string; message: string };
  questions?: Question[];
}

/** Fast calls that were only counted. */
export interface Summary {
  id: string;
  seq: number;
  kind: 'summary';
  principal: string;
  server: string;
  tool: string;
  from: number;
  to: number;
  count: number;
  errors: number;
  longestMs: number;
}

export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: Json;
  annotations?: Json;
}

export interface LogLine {
  time: number;
  level: string;
  source?: string;
  logger?: string;
  data?: unknown;
}

export interface Server {
  name: string;
  addedBy?: string;
  /** The owner, if a client of another principal added it. */
  principal?: string;
  transport: 'http' | 'stdio';
  address: string;
  state: 'idle' | 'connecting' | 'connected' | 'waiting' | 'failed';
  sessions: number;
  protocolVersion?: string;
  era?: string;
  tasks?: string;
  implementation?: { name?: string; title?: string; version?: string };
  capabilities?: Json;
  instructions?: string;
  latencyMs?: number;
  error?: string;
  fix?: string;
  /** The person must sign in to the server first. */
  needsSignIn?: true;
  retryAt?: number;
  calls?: { lastHour: number; errors: number };
  tools?: Tool[];
  log?: LogLine[];
}

export interface Session {
  id: string;
  principal: string;
  program?: string;
  view: string;
  server?: string;
  group?: string;
  protocolVersion?: string;
  createdAt: number;
  lastActiveAt: number;
  connected: boolean;
  /** `dormant`: only stored, until its client returns. */
  state: 'connected' | 'away' | 'dormant';
  tasks: { running: number; ended: number };
  questions: number;
  servers: string[];
  gateway?: string;
}

export interface Me {
  principal: string;
  operator: boolean;
  /** Has read-only access. */
  readOnly?: boolean;
  gateway: { id?: string; version: string; startedAt: number };
  /** With `keepMs` 0, calls and questions are not recorded and cannot be read. */
  history: { keepMs: number; callsPerSecond?: number };
  /** Absent if the audit record is off. */
  audit?: { keepMs: number; arguments?: string };
  endpoints?: { hub?: string; all?: string };
  /** Whether the person can start the demo. */
  demo?: boolean;
}

/** A line of the audit record. */
export interface AuditLine {
  seq: number;
  gateway: string;
  n: number;
  at: number;
  kind: 'call' | 'question' | 'answer' | 'approval' | 'sign_in' | 'server' | 'gap';
  event: string;
  principal?: string;
  program?: string;
  sessionId?: string;
  server?: string;
  tool?: string;
  callId?: string;
  questionId?: string;
  asks?: string;
  startedAt?: number;
  outcome?: string;
  isError?: boolean;
  errorCode?: number;
  answeredBy?: { principal: string; via: string; name?: string };
  reason?: string;
  contentHash?: string;
  content?: unknown;
  place?: string;
  method?: string;
  address?: string;
  count?: number;
}

export interface Page<T> {
  items: T[];
  next?: string;
  total?: number;
}

/** An account on a server; the principal is `*` if all users share it. */
export interface Account {
  server: string;
  principal: string;
  issuer: string;
  scopes: string[];
  expiresAt?: number;
  renewable: boolean;
}

/** A pending sign-in. */
export interface NeededSignIn {
  id: string;
  server: string;
  principal: string;
  issuer: string;
  scopes: string[];
  expiresAt: number;
  url?: string | undefined;
}
