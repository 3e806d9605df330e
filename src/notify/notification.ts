/** The content of a notification. It is stored per target, with only what that target may receive. */

import { createHash } from 'node:crypto';
import type { InteractionKind } from '../core/interaction/interaction.ts';
import type { NotifyEvent } from './settings.ts';

export interface Notification {
  event: NotifyEvent;
  /** When it happened. */
  at: number;
  /** Distinguishes notifications of the same event and subject. */
  key?: number | undefined;
  principal: string;
  server: string;
  tool?: string | undefined;
  question?: {
    id: string;
    kind: InteractionKind;
    mode?: string | undefined;
    sessionId: string;
    expiresAt: number;
    /** The page on which the person signs in. Only that person can use it. */
    signInUrl?: string;
  };
  task?: { id: string; callId?: string | undefined; status: string };
  /** The server's message, if the target may receive it. */
  message?: string | undefined;
  arguments?: unknown;
  /** The URL that a task is to call. */
  webhook?: string | undefined;
}

/** The same for the same target, event and subject. Receivers recognize a repetition by it. */
export function noticeId(...parts: readonly (string | number)[]): string {
  return `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27)}`;
}

export const questionSubject = (id: string): string => `question ${id}`;
export const taskSubject = (id: string): string => `task ${id}`;
export const serverSubject = (server: string, principal: string): string =>
  `server ${JSON.stringify([server, principal])}`;

/** The question that a notification is about. */
export function questionOf(subject: string): string | undefined {
  return /^question (.+)$/s.exec(subject)?.[1];
}
