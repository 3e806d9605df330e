/** Clients by hand of both eras, for what a group shows both of them alike. */
import { LegacyWire } from '../e2e/direct/legacy-wire.ts';
import { ModernWire } from '../e2e/direct/modern-wire.ts';
import type { MessageStream } from '../e2e/direct/stream.ts';
import type { WireOptions } from '../e2e/direct/wire.ts';
import type { Json } from './hub.ts';

export type Era = 'legacy' | 'modern';
export const ERAS: readonly Era[] = ['legacy', 'modern'];

export async function clientAt(era: Era, url: string, options: WireOptions = {}): Promise<LegacyWire | ModernWire> {
  return era === 'legacy' ? LegacyWire.open(url, options) : new ModernWire(url, options);
}

/** What the client is told unasked; `resources` are the addresses that it subscribes to. */
export async function watch(client: LegacyWire | ModernWire, resources: string[] = []): Promise<MessageStream> {
  if (client instanceof LegacyWire) {
    const stream = await client.listen();
    for (const uri of resources) await client.request('resources/subscribe', { uri });
    return stream;
  }
  const lists = { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true };
  const stream = await client.listen({ ...lists, ...(resources.length > 0 && { resourceSubscriptions: resources }) });
  await stream.heard('notifications/subscriptions/acknowledged');
  return stream;
}

/** The names or addresses in a list. */
export async function idsOf(client: LegacyWire | ModernWire, method: string): Promise<unknown[]> {
  const result = await client.request(method);
  const items = Object.values(result).find(Array.isArray) as Json[];
  return items.map(({ name, uri, uriTemplate }) => uri ?? uriTemplate ?? name);
}

export const toolsOf = async (client: LegacyWire | ModernWire): Promise<unknown[]> => idsOf(client, 'tools/list');
