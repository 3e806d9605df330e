/** The items of the API of a gateway, as far as commands use them: see docs/API.md. */

export interface Me {
  principal: string;
  operator: boolean;
  gateway: { id?: string; version: string; startedAt: number };
  /** 0: calls and questions are not recorded, and so cannot be asked for. */
  history: { keepMs: number };
}

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
  answeredBy?: { principal: string; via: string };
  reason?: string;
  message?: string;
  /** The server's own; not in events, and not in lists where they are large. */
  params?: Record<string, unknown>;
  /** Of the call that asks. */
  arguments?: Record<string, unknown>;
  /** Its own client is being asked, too. */
  presented?: boolean;
  /** The form may ask for a secret. */
  secret?: boolean;
}

export type CallStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'lost';

export interface Call {
  id: string;
  seq: number;
  taskId?: string;
  server: string;
  tool: string;
  principal: string;
  program?: string;
  startedAt: number;
  endedAt?: number;
  status: CallStatus;
  isError?: boolean;
  progress?: { progress: number; total?: number; message?: string };
  statusMessage?: string;
  error?: { message: string };
}

/** Calls that were too many for entries of their own. */
export interface CallSummary {
  kind: 'summary';
  id: string;
  seq: number;
  server: string;
  tool: string;
  count: number;
  errors: number;
}

export interface Server {
  name: string;
  state: 'idle' | 'connecting' | 'connected' | 'waiting' | 'failed';
  transport: 'http' | 'stdio';
  address: string;
  sessions: number;
  latencyMs?: number;
  error?: string;
  fix?: string;
  retryAt?: number;
}

export interface Session {
  id: string;
  principal: string;
  program?: string;
  view: string;
  connected: boolean;
  tasks: { running: number; ended: number };
  questions: number;
}

export interface Page<T> {
  items: T[];
  next?: string;
  total?: number;
}
