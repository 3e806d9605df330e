/** The outcome of a call, as the history and the audit record describe it. */

import { shortenText } from '../../lib/shorten.ts';
import type { CallReply } from '../call/request.ts';
import type { EndedTask, TaskError } from '../task/task.ts';
import type { CallEntry, CallStatus } from './entry.ts';

/** Longer messages are truncated. */
const MESSAGE_LENGTH = 1000;

export const shortened = (text: string): string => shortenText(text, MESSAGE_LENGTH);

export type CallEnd = Pick<CallEntry, 'isError' | 'error' | 'statusMessage'> & {
  status: Exclude<CallStatus, 'running' | 'waiting'>;
  result?: Record<string, unknown>;
};

export function endOf(reply: Exclude<CallReply, { kind: 'task' }>): CallEnd {
  switch (reply.kind) {
    case 'result':
      return { status: 'completed', result: reply.result, ...errorFlag(reply.result) };
    case 'cancelled':
      return { status: 'cancelled' };
    case 'failed': {
      const { outcome, error } = reply;
      if (outcome.kind === 'cancelled') return { status: 'cancelled', statusMessage: shortened(outcome.reason) };
      const { code, message } = outcome.kind === 'error' ? outcome.error : { code: -32_000, message: error.message };
      return { status: 'failed', error: { code, message: shortened(message) } };
    }
  }
}

export function endOfTask(task: EndedTask): CallEnd {
  switch (task.status) {
    case 'completed':
      return { status: 'completed', result: task.result, ...errorFlag(task.result) };
    case 'cancelled':
      return {
        status: 'cancelled',
        ...(task.statusMessage !== undefined && { statusMessage: shortened(task.statusMessage) }),
      };
    case 'failed':
    case 'expired':
      return { status: task.status, error: short(task.error) };
  }
}

const errorFlag = (result: Record<string, unknown>): { isError?: boolean } =>
  result['isError'] === true ? { isError: true } : {};

const short = ({ code, message }: TaskError): { code: number; message: string } => ({
  code,
  message: shortened(message),
});
