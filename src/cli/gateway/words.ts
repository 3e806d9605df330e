/** Questions and calls as text. */

import { cleanLine } from '../../lib/clean.ts';
import { showAge, showDuration } from '../units.ts';
import type { Call, Question, QuestionStatus } from '../../lib/api-items.ts';

/** `demo book_table`. */
export function serverAndTool({ server, tool }: { server: string; tool?: string }): string {
  return tool === undefined ? cleanLine(server) : `${cleanLine(server)} ${cleanLine(tool)}`;
}

/** What is asked, on one line. */
export function subjectOf({ kind, mode, message, params = {} }: Question): string {
  if (kind === 'roots') return '(asks for the roots of the client)';
  if (kind === 'sampling') return '(asks for a model response)';
  const text = cleanLine(message ?? params['message']);
  return mode === 'url' ? `${text} ${cleanLine(params['url'])}`.trim() : text;
}

/** Who made the call: the program and its principal. */
export function callerOf({ program, principal }: { program?: string; principal: string }): string {
  return program === undefined ? cleanLine(principal) : `${cleanLine(program)} (${cleanLine(principal)})`;
}

const ENDED: Record<Exclude<QuestionStatus, 'open'>, string> = {
  accepted: 'already answered',
  completed: 'already answered',
  declined: 'already declined',
  cancelled: 'already cancelled',
  rejected: 'already rejected',
  expired: 'expired',
  lost: 'no longer open: the call that asked it was lost',
};

const VIA: Record<string, string> = {
  console: 'in the console',
  terminal: 'in a terminal',
  link: 'through a link in a message',
  client: 'in its client',
  tools: 'through the hub tools',
};

/** Answers that no person gave. */
const BY: Record<string, string> = { rule: 'the rule', model: 'the model' };

function answererOf({ principal, via, name }: NonNullable<Question['answeredBy']>): string {
  if (BY[via] !== undefined) return ` by ${BY[via]} ${cleanLine(name ?? '')}`.trimEnd();
  return ` by ${cleanLine(principal)} ${VIA[via] ?? `(${cleanLine(via)})`}`;
}

/** How a question ended, and who answered. */
export function describeQuestionEnd({ status, answeredBy, endedAt, reason }: Question): string {
  if (status === 'open') return 'still open';
  const by = answeredBy === undefined ? '' : answererOf(answeredBy);
  const when = endedAt === undefined ? '' : `, ${showAge(endedAt)}`;
  const why = reason === undefined || reason === '' ? '' : ` (${cleanLine(reason)})`;
  return `${ENDED[status]}${by}${when}${why}`;
}

/** How long a question has waited, and how long it may. */
export function waitOf({ createdAt, expiresAt }: Question, now: number = Date.now()): string {
  const rest = expiresAt === undefined ? '' : `, ${showDuration(Math.max(0, expiresAt - now))} left`;
  return `${showDuration(Math.max(0, now - createdAt))}${rest}`;
}

/** The state of a call, on one line. */
export function callState({ status, statusMessage, progress, isError, endedAt, error }: Call): string {
  // Progress is irrelevant once the call has ended.
  const message = endedAt === undefined ? (progress?.message ?? statusMessage) : (error?.message ?? statusMessage);
  const state = status === 'completed' && isError ? 'completed with an error' : status;
  return [state, cleanLine(message ?? '')].filter(Boolean).join('  ');
}
