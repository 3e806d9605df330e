/** The parts of a call besides tool and arguments, stored with the task of a call that was not sent yet. */

import * as z from '../../lib/schema/kinds.ts';
import { isObject } from '../../lib/values.ts';
import type { CallRequest } from './request.ts';

export const storedRequest = {
  bare: z.boolean().optional(),
  meta: z.unknown().optional(),
  more: z.unknown().optional(),
  tasks: z.enum(['use', 'avoid']).optional(),
};

type Stored = Pick<CallRequest, 'bare' | 'tasks'> & { meta?: unknown; more?: unknown };

export function toStored({ bare, meta, more, tasks }: CallRequest) {
  return { bare, meta, more, tasks };
}

/** Rebuilds the client's call from what was stored. */
export function requestFrom({
  bare,
  meta,
  more,
  tasks,
}: { [K in keyof Stored]: Stored[K] | undefined }): Partial<CallRequest> {
  return {
    ...(bare && { bare }),
    ...(isObject(meta) && { meta }),
    ...(isObject(more) && { more }),
    ...(tasks !== undefined && { tasks }),
  };
}
