import * as z from 'zod';
import { LISTS, type ListName } from '../../../core/session/catalog.ts';
import type { Session } from '../../../core/session/session.ts';
import type { ListItem } from '../../../lib/pages.ts';
import { json, READS_SERVER, tool, type HubTool } from '../tool.ts';
import { reasonWithFix } from '../with-fix.ts';
import { serverName } from './arguments.ts';
import { failureOn } from './request-on.ts';

/**
 * The list of one server, or the lists of all. A server that fails is reported as unavailable beside the others; if requested
 * alone, its error is thrown.
 */
export async function fromServers(
  session: Session,
  only: string | undefined,
  list: ListName,
  wanted: (item: ListItem) => boolean = () => true,
  view: (item: ListItem) => ListItem = (item) => item,
): Promise<Record<string, unknown>> {
  const of = async (server: string): Promise<ListItem[]> =>
    (await listOf(session, server, list)).filter(wanted).map((item) => ({ ...view(item), server }));
  const { key } = LISTS[list];
  if (only !== undefined) {
    const connection = session.connection(only);
    session.interactions.serverUsed(only);
    try {
      return { [key]: await of(only) };
    } catch (error) {
      throw failureOn(connection, only, LISTS[list].method, error);
    }
  }
  const servers = session.servers.list();
  const answers = await Promise.allSettled(servers.map(async ({ name }) => of(name)));
  const unavailable = servers.flatMap(({ name, config }, index) => {
    const answer = answers[index];
    if (answer?.status !== 'rejected') return [];
    return [{ server: name, error: reasonWithFix(answer.reason, config) }];
  });
  return {
    [key]: answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])),
    ...(unavailable.length > 0 && { unavailable }),
  };
}

async function listOf(session: Session, server: string, list: ListName): Promise<ListItem[]> {
  const items = await session.catalog(server).list(list);
  return list === 'tools' ? session.toolsFor(server, items) : items;
}

/** A tool that lists items of one server or of all. */
export function listTool(name: string, description: string, list: ListName): HubTool {
  return tool({
    name,
    description,
    input: () => z.object({ server: serverName.optional() }),
    annotations: READS_SERVER,
    showsServers: true,
    run: async ({ server }, { session }) => json(await fromServers(session, server, list)),
  });
}
