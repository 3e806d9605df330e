import type { NamePatterns } from '../lib/pattern.ts';
import type { StandingRule } from './interaction/standing-answers.ts';
import type { ModelSettings } from './models/choose.ts';

/** Whether a session connects to a server when it starts, or when the server is first used. */
export type ConnectMode = 'lazy' | 'eager';

/** A selection of servers and tools: `include` and `exclude` are patterns of `<server>__<tool>`. */
export interface GroupSettings extends NamePatterns {
  /** Names of servers and patterns of such names; all servers by default. */
  servers?: readonly string[] | undefined;
  /** Whether tools are shown with the name of their server in front. */
  prefix: boolean;
}

export interface AuditSettings {
  keepMs: number;
  bytes: number;
  /** How much of arguments, questions and answers is recorded. */
  arguments: 'hash' | 'keep' | 'none';
}

/** The settings that the core reads. */
export interface CoreSettings {
  /** The principals whose clients may add servers. */
  addServers: 'anyone' | 'nobody' | readonly string[];
  /** Whether clients may replace and remove servers of the config file. */
  allowServerChanges: boolean;
  calls: { timeoutMs: number; onCancel: 'auto' | 'cancel' | 'keep' };
  tasks: { ttlMs: number; maxTtlMs: number; keepMs: number; cleanupMs: number; perSession: number; max: number };
  questions: { timeoutMs: number; perSession: number; via: 'tools' | 'native' | 'both'; minDeclineMs: number };
  /** Rules that answer routine questions; the first that matches decides. */
  answers: readonly StandingRule[];
  /** Only log what the rules would answer. */
  answersDryRun: boolean;
  /** Models, by name, for sampling requests that no client can answer. */
  models: Readonly<Record<string, ModelSettings>>;
  direct: { takeOverMs: number };
  all: { listTimeoutMs: number; listBytes: number; maxNameLength: number; helperTools: 'auto' | 'always' | 'never' };
  groups: Record<string, GroupSettings>;
  servers: { connect: { commands: ConnectMode; urls: ConnectMode } };
  cluster: { drainMs: number };
  history: { keepMs: number; bytes: number; callsPerSecond: number; entryBytes: number };
  /** Absent if there is no audit record. */
  audit?: AuditSettings | undefined;
  sessions: { idleMs: number; checkMs: number; max: number };
  events: { perSession: number; total: number; notificationsPerServer: number; logsPerServer: number };
  limits: {
    resultBytes: number;
    entryBytes: number;
    questionBytes: number;
    sessionBytes: number;
    totalBytes: number;
    waitMs: number;
    requestsPerSession: number;
    requests: number;
    principalShare: number;
    subscriptionsPerServer: number;
    serversPerPrincipal: number;
  };
}
