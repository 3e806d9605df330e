import type { Tool } from '../../client/types.ts';

import type { Visit } from '../visit.ts';
import { isObject } from '../../lib/values.ts';

/** The tools that can be called; a server may list anything. */
export async function listTools({ client, stop }: Pick<Visit, 'client' | 'stop'>): Promise<Tool[]> {
  return (await stop.unless(client.listTools())).filter(isTool);
}

export const isTool = (thing: unknown): thing is Tool => isObject(thing) && typeof thing['name'] === 'string';
