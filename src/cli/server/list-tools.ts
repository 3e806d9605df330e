import type { Tool } from '../../client/types.ts';
import { isSchema } from '../json-schema.ts';
import type { Visit } from '../visit.ts';

/** The tools that can be called; a server may list anything. */
export async function listTools({ client, stop }: Pick<Visit, 'client' | 'stop'>): Promise<Tool[]> {
  return (await stop.unless(client.listTools())).filter(isTool);
}

export const isTool = (thing: unknown): thing is Tool => isSchema(thing) && typeof thing['name'] === 'string';
