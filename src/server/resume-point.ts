import * as z from '../lib/schema/kinds.ts';
import { readStored } from '../lib/stored.ts';
import type { Capabilities } from './client-question.ts';

/** The version of the schema below. A migration converts the checkpoints of earlier versions. */
const VERSION = 1;

const common = {
  version: z.literal(VERSION),
  /** The capabilities of the call's client. */
  capabilities: z.record(z.string(), z.unknown()).optional(),
};

const appResumePoint = z.union([
  z.object({ ...common, task: z.string() }),
  z.object({ ...common, again: z.literal(true) }),
]);

/** Where a call continues after a restart: in a task of the application, or with another run of a repeatable tool. */
export type AppResumePoint = z.Output<typeof appResumePoint>;

export const inAppTask = (task: string, capabilities?: Capabilities): AppResumePoint => ({
  version: VERSION,
  task,
  ...(capabilities && { capabilities }),
});

export const runAgain = (capabilities?: Capabilities): AppResumePoint => ({
  version: VERSION,
  again: true,
  ...(capabilities && { capabilities }),
});

export const readAppResumePoint = (stored: unknown): AppResumePoint =>
  readStored(appResumePoint, stored, 'the checkpoint of the call');
