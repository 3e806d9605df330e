/** Named selections of servers and their tools, each with an endpoint of its own. */

import { compileGlob, isGlob, type NamePatterns } from '../lib/pattern.ts';

/** The name of the endpoint that shows all servers. No server and no group can have it. */
export const ALL_SERVERS = 'all';

/** `include` and `exclude` are patterns of `<server>__<tool>`. */
export interface GroupSettings extends NamePatterns {
  /** Names of servers and patterns of such names; all servers by default. */
  servers?: readonly string[] | undefined;
  /** Whether tools are shown with the name of their server in front. */
  prefix: boolean;
}

/** Whether a server is in the group. Unlike a pattern, a name must match exactly: other servers may differ only in case. */
export function serverFilter({ servers }: Pick<GroupSettings, 'servers'>): (server: string) => boolean {
  if (servers === undefined) return () => true;
  const names = new Set(servers.filter((each) => !isGlob(each)));
  const patterns = servers.filter(isGlob).map(compileGlob);
  return (server) => names.has(server) || patterns.some((matches) => matches(server));
}
