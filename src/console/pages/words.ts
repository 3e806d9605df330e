/** States in the words of the page. */

import type { Call, CallStatus, Question, QuestionStatus, Server, Session } from '../../lib/api-items.ts';
import { cleanLine } from '../../lib/clean.ts';
import { isObject } from '../../lib/values.ts';

const QUESTION_STATUS: Record<QuestionStatus, { text: string; tone: string }> = {
  open: { text: 'Open', tone: 'waiting' },
  accepted: { text: 'Answered', tone: 'good' },
  completed: { text: 'Completed', tone: 'good' },
  declined: { text: 'Declined', tone: 'neutral' },
  cancelled: { text: 'Dismissed', tone: 'neutral' },
  rejected: { text: 'Withdrawn', tone: 'neutral' },
  expired: { text: 'Expired', tone: 'bad' },
  lost: { text: 'Lost', tone: 'bad' },
};

/** A person refuses a question; without one, the server or its call has withdrawn it. */
export function questionStatus({ status, answeredBy: by, approval }: Question): { text: string; tone: string } {
  if (approval !== undefined && status === 'accepted') return { text: 'Allowed', tone: 'good' };
  if (approval !== undefined && status === 'declined') return { text: 'Denied', tone: 'bad' };
  if (status === 'rejected' && by !== undefined) return { text: 'Refused', tone: 'neutral' };
  return QUESTION_STATUS[status] ?? { text: status, tone: 'neutral' };
}

export const CALL_STATUS: Record<CallStatus, { text: string; tone: string }> = {
  running: { text: 'Running', tone: 'running' },
  waiting: { text: 'Waiting', tone: 'waiting' },
  completed: { text: 'Completed', tone: 'good' },
  failed: { text: 'Failed', tone: 'bad' },
  cancelled: { text: 'Cancelled', tone: 'neutral' },
  expired: { text: 'Expired', tone: 'bad' },
  lost: { text: 'Lost', tone: 'bad' },
};

/** A tool that reports an error has completed for the protocol, and failed for a person. */
export function callStatus({ status, isError }: Call): { text: string; tone: string } {
  return status === 'completed' && isError === true
    ? { text: 'Tool error', tone: 'bad' }
    : (CALL_STATUS[status] ?? { text: status, tone: 'neutral' });
}

export const SERVER_STATE: Record<Server['state'], { text: string; tone: string }> = {
  idle: { text: 'Idle', tone: 'neutral' },
  connecting: { text: 'Connecting', tone: 'running' },
  connected: { text: 'Connected', tone: 'good' },
  waiting: { text: 'Reconnecting', tone: 'waiting' },
  failed: { text: 'Failed', tone: 'bad' },
};

export const SESSION_STATE: Record<Session['state'], { text: string; tone: string }> = {
  connected: { text: 'Connected', tone: 'good' },
  away: { text: 'Away', tone: 'neutral' },
  dormant: { text: 'Dormant', tone: 'neutral' },
};

const VIA: Record<string, string> = {
  console: 'in the console',
  terminal: 'in a terminal',
  link: 'through a link in a message',
  tools: 'through the hub’s tools',
  client: 'in the client',
};

/** Answers that no person gave. */
const BY: Record<string, string> = { rule: 'the rule', model: 'the model' };

export function answeredBy({ answeredBy: by, program }: Question): string {
  if (by === undefined) return '';
  if (BY[by.via] !== undefined) return `${BY[by.via]} ${cleanLine(by.name ?? '')}`.trim();
  const place =
    by.via === 'client' && program !== undefined ? `in ${cleanLine(program)}` : (VIA[by.via] ?? `via ${by.via}`);
  return `${by.principal} ${place}`;
}

/** One line that tells a question from the others. */
export function headline(question: Question): string {
  const { kind, message, params, approval } = question;
  if (approval !== undefined) return `Allow ${cleanLine(approval.tool)}?`;
  const text = cleanLine(message ?? params?.['message'] ?? '');
  if (text !== '') return text;
  if (kind === 'roots') return 'Which folders may it use?';
  return kind === 'sampling' ? lastMessage(params ?? {}) || 'Asks for a model reply' : 'Asks for input';
}

function lastMessage({ messages }: Record<string, unknown>): string {
  const all: unknown[] = Array.isArray(messages) ? messages : [];
  const blocks = all.flatMap((message) => (isObject(message) ? message['content'] : []));
  const last = blocks.findLast((block) => isObject(block) && typeof block['text'] === 'string');
  return isObject(last) ? cleanLine(String(last['text']).slice(0, 400)) : '';
}

export function questionKind({ kind, mode, approval, signIn }: Question): string {
  if (signIn === true) return 'Sign-in';
  if (approval !== undefined) return 'Approval';
  if (kind === 'sampling') return 'Model request';
  if (kind === 'roots') return 'Folders';
  return mode === 'url' ? 'Link' : 'Form';
}
