/** What the servers saw: nothing was done twice. */
import { kindOf } from '../calls.ts';
import type { Exchange } from '../history.ts';
import type { Seen } from '../servers.ts';

export function checkServers(exchanges: readonly Exchange[], { calls, answers }: Seen): string[] {
  const runs = exchanges.flatMap(({ client, call }) => {
    if (call === undefined) return [];
    const { server, tool, label } = call;
    const times = calls.get(`${server} ${label}`) ?? 0;
    // With each answer of a round the call is sent once more.
    const most = 1 + (server === 'rounds' ? (kindOf(server, tool)?.questions ?? 0) : 0);
    return times > most ? [`${client}: ${server}.${tool} ${label} was run ${times} times`] : [];
  });
  const arrivals = [...answers].flatMap(([said, times]) => (times > 1 ? [`${said} arrived ${times} times`] : []));
  return [...runs, ...arrivals];
}
