/** A notification in words, and for programs. */

import { cleanLine } from '../lib/clean.ts';
import { isoTime } from '../lib/clock.ts';
import { stringifyExact } from '../lib/exact-json.ts';
import type { Notification } from './notification.ts';
import type { NotifyEvent } from './settings.ts';

export interface NotifyMessage {
  /** The same at each attempt. */
  id: string;
  event: NotifyEvent | 'test';
  /** When it happened. */
  at: number;
  title: string;
  /** More about it, without links. */
  lines: string[];
  /** Opens the console at what it is about. */
  link?: string | undefined;
  /** Shows the question, and answers it. */
  answerLink?: string | undefined;
  /** It will not wait much longer. */
  urgent: boolean;
  /** For programs. */
  type: string;
  data: Record<string, unknown>;
}

export interface MessageLinks {
  /** Where people reach the gateway, if they do. */
  base: string | undefined;
  answerLink?: string | undefined;
}

const TYPES: Record<NotifyEvent, string> = {
  question: 'question.opened',
  expiring: 'question.expiring',
  task: 'task.ended',
  server: 'server.down',
};

const MINUTE_MS = 60_000;

export function messageFrom(id: string, notification: Notification, { base, answerLink }: MessageLinks): NotifyMessage {
  const { event, at, principal, server, tool, question, task, message, arguments: args } = notification;
  const link = base === undefined ? undefined : `${base}/console${fragmentOf(notification)}`;
  const data = {
    principal,
    server,
    ...(tool !== undefined && { tool }),
    ...(question && { questionId: question.id, kind: question.kind, expiresAt: isoTime(question.expiresAt) }),
    ...(question?.signInUrl !== undefined && { signInUrl: question.signInUrl }),
    ...(task && { taskId: task.id, status: task.status }),
    ...(message !== undefined && { message }),
    ...(args !== undefined && { arguments: args }),
    ...(link !== undefined && { link }),
    ...(answerLink !== undefined && { answerLink }),
  };
  return {
    id,
    event,
    at,
    title: titleOf(notification),
    lines: linesOf(notification),
    link,
    answerLink,
    urgent: event === 'expiring' || event === 'server',
    type: TYPES[event],
    data,
  };
}

export function testMessage(id: string, target: string, now: number, base: string | undefined): NotifyMessage {
  const link = base === undefined ? undefined : `${base}/console`;
  return {
    id,
    event: 'test',
    at: now,
    title: 'Meanwhile: a test message',
    lines: [`Notifications reach the target '${target}'.`],
    link,
    urgent: false,
    type: 'test',
    data: { target, ...(link !== undefined && { link }) },
  };
}

/** The text of a message with its links, for targets without buttons. */
export function textWithLinks({ lines, link, answerLink }: NotifyMessage): string {
  return [
    ...lines,
    ...(answerLink === undefined ? [] : [`Answer: ${answerLink}`]),
    ...(link === undefined ? [] : [`Open in the console: ${link}`]),
  ].join('\n');
}

function titleOf({ event, server, question, task }: Notification): string {
  const name = cleanLine(server);
  switch (event) {
    case 'question':
      if (question?.kind === 'sampling') return `${name} requests a model response`;
      if (question?.signInUrl !== undefined) return `Sign in to use ${name}`;
      return question?.mode === 'url' ? `${name} asks you to open a page` : `${name} asks a question`;
    case 'expiring':
      return `A question from ${name} is about to expire`;
    case 'task':
      return `${name}: task ${task?.status ?? 'ended'}`;
    case 'server':
      return `The server ${name} is down`;
  }
}

function linesOf({ tool, question, message, arguments: args, at, event }: Notification): string[] {
  return [
    ...(tool === undefined ? [] : [`Tool: ${cleanLine(tool)}`]),
    ...(message === undefined ? [] : [cleanLine(message)]),
    ...(args === undefined ? [] : [`Arguments: ${cleanLine(stringifyExact(args))}`]),
    ...(question?.signInUrl === undefined ? [] : [`Sign in: ${cleanLine(question.signInUrl)}`]),
    ...(question === undefined ? [] : [`Open until ${minuteOf(question.expiresAt)}`]),
    ...(event === 'server' ? [`Since ${minuteOf(at)}`] : []),
  ];
}

const minuteOf = (moment: number): string =>
  `${isoTime(moment - (moment % MINUTE_MS))
    .slice(0, 16)
    .replace('T', ' ')} UTC`;

/** The routes of the console. */
function fragmentOf({ server, question, task, event }: Notification): string {
  if (question !== undefined) return `#/q/${encodeURIComponent(question.id)}`;
  if (task !== undefined) return task.callId === undefined ? '#/work' : `#/c/${encodeURIComponent(task.callId)}`;
  return event === 'server' ? `#/s/${encodeURIComponent(server)}` : '';
}
