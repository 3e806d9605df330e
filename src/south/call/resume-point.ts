import * as z from '../../lib/schema/kinds.ts';
import { readStored } from '../../lib/stored.ts';

/** The version of the schema below. A migration converts the checkpoints of earlier versions. */
const VERSION = 1;

/** A request of the server. It waits for the answer to this request, and does not send it again. */
const askedRequest = z.object({
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
});

const taskResumePoint = z.object({
  taskId: z.string(),
  sessionId: z.string().optional(),
  /** Requests of the server in that session that have no answer yet. */
  asked: z.array(askedRequest).optional(),
});

const inputRequired = z.object({
  resultType: z.literal('input_required'),
  inputRequests: z.unknown().optional(),
  requestState: z.string().optional(),
});

const version = z.literal(VERSION);
const callResumePoint = z.union([
  z.object({ version, task: taskResumePoint }),
  z.object({ version, round: inputRequired }),
]);

export type AskedRequest = z.Output<typeof askedRequest>;
export type TaskResumePoint = z.Output<typeof taskResumePoint>;
/** A result of the type `input_required`: the server expects the same call again, with the answers. */
export type InputRequired = z.Output<typeof inputRequired>;
/** Where a call continues: in a task that the server keeps, or between two rounds. */
export type CallResumePoint = z.Output<typeof callResumePoint>;

export const inTask = (task: TaskResumePoint): CallResumePoint => ({ version: VERSION, task });

export const betweenRounds = (round: InputRequired): CallResumePoint => ({ version: VERSION, round });

export const readResumePoint = (stored: unknown): CallResumePoint =>
  readStored(callResumePoint, stored, 'the checkpoint of the call');
