/** Named selections of servers and tools, each with its own endpoint. */

import { compileGlob, isGlob } from '../lib/pattern.ts';
import { GatewayError, known } from './errors.ts';
import type { Owner, View } from './session/kind.ts';
import type { CoreSettings, GroupSettings } from './settings.ts';

/** The name of the endpoint that shows all servers. No server and no group can have it. */
export const ALL_SERVERS = 'all';

/** Whether a server is in the group. Unlike a pattern, a name must match exactly: other servers may differ only in case. */
export function serverFilter({ servers }: Pick<GroupSettings, 'servers'>): (server: string) => boolean {
  if (servers === undefined) return () => true;
  const names = new Set(servers.filter((each) => !isGlob(each)));
  const patterns = servers.filter(isGlob).map((pattern) => compileGlob(pattern));
  return (server) => names.has(server) || patterns.some((matches) => matches(server));
}

const EVERYTHING: GroupSettings = { prefix: true };

/** A configured group, or that of all servers. */
export function findGroup(name: string, { groups }: Pick<CoreSettings, 'groups'>): GroupSettings | undefined {
  if (name === ALL_SERVERS) return EVERYTHING;
  return Object.hasOwn(groups, name) ? groups[name] : undefined;
}

export function requireGroup(name: string, settings: Pick<CoreSettings, 'groups'>): GroupSettings {
  const group = findGroup(name, settings);
  if (group !== undefined) return group;
  const message = `no group '${name}'; ${known([ALL_SERVERS, ...Object.keys(settings.groups)])}`;
  throw new GatewayError('TOOL_ERR_SERVER_NOT_FOUND', message);
}

/** The servers that a view exposes natively. */
export function shownServers(view: View, names: () => string[], settings: CoreSettings): string[] {
  switch (view.kind) {
    case 'hub':
      return [];
    case 'direct':
      return [view.server];
    case 'group': {
      // The config may no longer have the group of a restored session.
      const group = findGroup(view.group, settings);
      return group === undefined ? [] : names().filter(serverFilter(group));
    }
  }
}

/** A group client that supports neither tasks nor elicitation needs the hub's tools for both. */
export function hasHubTools(view: View, owner: Owner, { all: { helperTools } }: CoreSettings): boolean {
  if (view.kind !== 'group') return view.kind === 'hub';
  if (helperTools !== 'auto') return helperTools === 'always';
  return owner.kind === 'client' && needsHubTools(owner.client.capabilities);
}

/** Whether a client with these capabilities needs the hub's tools for slow calls and questions. */
export function needsHubTools({ tasks, elicitation }: Record<string, unknown>): boolean {
  return tasks === undefined && elicitation === undefined;
}
