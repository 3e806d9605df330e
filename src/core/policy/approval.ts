/** The question whether a call may be made, bound to this server, this tool and these arguments. */

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { escapeControls } from '../../lib/escape-controls.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { APPROVAL_META } from '../../lib/meta.ts';
import { redactSecrets } from '../../lib/redact.ts';
import * as z from '../../lib/schema/kinds.ts';
import { shortenText } from '../../lib/shorten.ts';
import { readStored } from '../../lib/stored.ts';
import { isObject } from '../../lib/values.ts';
import type { CallRequest } from '../call/request.ts';
import { storedRequest, toStored } from '../call/stored-request.ts';
import type { Answer, Approval } from '../interaction/interaction.ts';
import type { ResumePoint } from '../task/task.ts';
import type { Rule } from './rule.ts';

type Called = Pick<CallRequest, 'server' | 'tool' | 'args'>;

/** How much of the arguments the message shows; all of them are in the metadata. */
const SHOWN_ARGUMENTS = 2000;
/** Of one argument, however many there are; and of all of them then. */
const LEAST_SHOWN = 100;
const MOST_SHOWN = 20_000;

/** What is approved: a call with other arguments has another hash. */
export function approvalHash({ server, tool, args }: Called): string {
  return createHash('sha256')
    .update(canonicalJson([server, tool, args]))
    .digest('hex');
}

export type ApprovalDecision = 'allow' | 'always' | 'deny' | 'declined' | 'cancelled';

/** As a form, which every client that can be asked can show. */
export function questionAbout(
  call: Called,
  approval: Approval,
  { message, remember }: Pick<Rule, 'message' | 'remember'>,
) {
  const { server, tool, args } = call;
  const lines = [
    `Allow ${tool} on ${server}?`,
    ...(message === undefined ? [] : [message]),
    Object.keys(args).length === 0 ? 'It has no arguments.' : `Arguments: ${shownArguments(args)}`,
  ];
  const choices: [ApprovalDecision, string][] = [
    ['allow', 'Allow once'],
    ...(remember ? [['always', `Always allow ${tool} in this session`] as [ApprovalDecision, string]] : []),
    ['deny', 'Deny'],
  ];
  return {
    mode: 'form',
    message: lines.join('\n'),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          enum: choices.map(([choice]) => choice),
          enumNames: choices.map(([, title]) => title),
          // Pressing Enter must not mean consent.
          default: 'deny',
        },
      },
      required: ['decision'],
    },
    _meta: {
      [APPROVAL_META]: {
        server,
        tool,
        arguments: args,
        argumentsHash: approval.argumentsHash,
        ...(message !== undefined && { message }),
      },
    },
  };
}

/**
 * Each one is shortened by itself, so that a long one does not push another out of sight. What looks secret is not shown: the
 * message travels further than the arguments, into notifications, the history and the audit record.
 */
function shownArguments(args: Record<string, unknown>): string {
  const shown = Object.entries(redactSecrets(args) as Record<string, unknown>);
  const most = Math.max(LEAST_SHOWN, Math.floor(SHOWN_ARGUMENTS / shown.length));
  const lines = shown.map(([name, value]) => {
    const text = shortenText(stringifyExact(value, 2), most).replaceAll('\n', '\n  ');
    return `  ${JSON.stringify(name)}: ${text}`;
  });
  return shortenText(escapeControls(`{\n${lines.join(',\n')}\n}`), MOST_SHOWN);
}

export function decisionIn({ action, content }: Answer): ApprovalDecision {
  if (action !== 'accept') return action === 'decline' ? 'declined' : 'cancelled';
  const decision = isObject(content) ? content['decision'] : undefined;
  return decision === 'allow' || decision === 'always' ? decision : 'deny';
}

// --- What is kept with the task of a call that waits --------------------------------------------------------------

const VERSION = 1;

const pointSchema = z.object({
  version: z.literal(VERSION),
  approval: z.object({
    argumentsHash: z.string(),
    message: z.string().optional(),
    remember: z.boolean().optional(),
    approver: z.enum(['anyone', 'person']).optional(),
    timeoutMs: z.number().optional(),
    ...storedRequest,
  }),
});

export type ApprovalPoint = z.Output<typeof pointSchema>['approval'];

export function resumePoint(
  argumentsHash: string,
  { message, remember, approver, timeoutMs }: Rule,
  request: CallRequest,
): ResumePoint {
  return {
    version: VERSION,
    approval: { argumentsHash, message, remember, approver, timeoutMs, ...toStored(request) },
  };
}

/** Throws if it was written by a version of the program that this one does not know. */
export const readPoint = (stored: ResumePoint): ApprovalPoint =>
  readStored(pointSchema, stored, 'the approval of the call').approval;

/** The question under the rule that asks now: with its words and its time; who may answer, and what is remembered, only as both allow. */
export function stricter(point: ApprovalPoint, { message, remember, approver, timeoutMs }: Rule): ApprovalPoint {
  return {
    ...point,
    message,
    timeoutMs,
    remember: remember === true && point.remember === true,
    approver: approver === 'person' ? approver : point.approver,
  };
}
