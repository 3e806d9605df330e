/** The approval request for a call, bound to its server, tool and arguments. */

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
/** The minimum shown of each argument, and the resulting maximum in total. */
const LEAST_SHOWN = 100;
const MOST_SHOWN = 20_000;

/** Identifies the approved call: other arguments give another hash. */
export function approvalHash({ server, tool, args }: Called): string {
  return createHash('sha256')
    .update(canonicalJson([server, tool, args]))
    .digest('hex');
}

export type ApprovalDecision = 'allow' | 'always' | 'deny' | 'declined' | 'cancelled';

/** A form, which every client with elicitation can show. */
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
 * Each argument is shortened separately, so that a long one does not hide another. Values that look secret are not shown: the
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

// --- The stored state of a call that waits for approval -----------------------------------------------------------

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

/** Throws if an unknown version of the program wrote it. */
export const readPoint = (stored: ResumePoint): ApprovalPoint =>
  readStored(pointSchema, stored, 'the approval of the call').approval;

/** The request under the current rule: with its message and timeout; the approver and `remember` only as both rules allow. */
export function stricter(point: ApprovalPoint, { message, remember, approver, timeoutMs }: Rule): ApprovalPoint {
  return {
    ...point,
    message,
    timeoutMs,
    remember: remember === true && point.remember === true,
    approver: approver === 'person' ? approver : point.approver,
  };
}
