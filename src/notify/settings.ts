/** The settings that notifications read; the config room provides them. */

/** A question has come, or is about to expire; a task has ended; a server is down. */
export type NotifyEvent = 'question' | 'expiring' | 'task' | 'server';

export type TargetType = 'webhook' | 'ntfy' | 'slack' | 'smtp' | 'command';

/** A part of each day, as `22:00` to `07:00`. */
export interface QuietHours {
  from: string;
  to: string;
  /** By default that of the machine. */
  timeZone?: string | undefined;
}

/** The configuration has checked that each type has the keys it needs. */
export interface TargetSettings {
  type: TargetType;
  url?: string | undefined;
  secret?: string | undefined;
  headers?: Record<string, string> | undefined;
  token?: string | undefined;
  priority?: number | undefined;
  from?: string | undefined;
  to?: readonly string[] | undefined;
  command?: string | undefined;
  args?: readonly string[] | undefined;
  timeoutMs: number;
  events: readonly NotifyEvent[];
  /** Patterns; all if absent. */
  principals?: readonly string[] | undefined;
  servers?: readonly string[] | undefined;
  tools?: readonly string[] | undefined;
  /** Only questions that are still unanswered after this time are reported. */
  afterMs: number;
  quietHours?: QuietHours | undefined;
  /** The target for questions that stay unanswered, and for undeliverable messages. */
  escalate?: { to: string; afterMs: number } | undefined;
  /** What a message contains besides the server, the tool and a link. */
  include: readonly ('message' | 'arguments')[];
  /** Whether a message has a link with which anyone who has the message can answer. */
  answerLinks: boolean;
}

export interface NotifySettings {
  targets: Readonly<Record<string, TargetSettings>>;
  /** How long before its end a question is about to expire. */
  expiringMs: number;
  /** A server is down if it was lost for so long. */
  serverDownMs: number;
  /** For how long it is tried to deliver a message. */
  giveUpMs: number;
  taskWebhooks?: { allow: readonly string[]; secret: string } | undefined;
}
