import { LISTS, type ListName } from '../../../core/session/catalog.ts';
import type { Session } from '../../../core/session/session.ts';
import type { ListItem } from '../../../lib/pages.ts';
import { reasonWithFix } from '../with-fix.ts';
import { failureOn } from './request-on.ts';

/**
 * One list from one server or from all of them, side by side. A server that cannot answer does not hide the others: it
 * is named beside them. Asked for alone, its error is the answer.
 */
export async function fromServers(
  session: Session,
  only: string | undefined,
  list: ListName,
  wanted: (item: ListItem) => boolean = () => true,
  view: (item: ListItem) => ListItem = (item) => item,
): Promise<Record<string, unknown>> {
  const of = async (server: string): Promise<ListItem[]> =>
    (await session.catalog(server).list(list)).filter(wanted).map((item) => ({ ...view(item), server }));
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
