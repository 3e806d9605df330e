/** The resume point of a call that waits for a sign-in. */

import * as z from '../../lib/schema/kinds.ts';
import { readStored } from '../../lib/stored.ts';
import type { LiveCall } from '../call/live-call.ts';
import { storedRequest, toStored } from '../call/stored-request.ts';
import type { ResumePoint } from '../task/task.ts';

const VERSION = 1;

const pointSchema = z.object({
  version: z.literal(VERSION),
  signIn: z.object({
    /** The hash of the arguments that a person has approved, if the rules required that. */
    approved: z.string().optional(),
    ...storedRequest,
  }),
});

export type SignInPoint = z.Output<typeof pointSchema>['signIn'];

export function signInPoint({ approved, request }: Pick<LiveCall, 'approved' | 'request'>): ResumePoint {
  return { version: VERSION, signIn: { approved, ...toStored(request) } };
}

/** Throws if an unknown version of the program wrote it. */
export const readSignInPoint = (stored: ResumePoint): SignInPoint =>
  readStored(pointSchema, stored, 'the sign-in that the call waits for').signIn;
