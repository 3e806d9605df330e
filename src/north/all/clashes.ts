import type { Gateway } from '../../core/gateway.ts';
import { groupView } from '../../core/session/kind.ts';
import { messageOf } from '../../lib/log.ts';
import { LOCAL_PRINCIPAL } from '../../lib/local-principal.ts';
import { HELPER_NAMES } from '../hub/about.ts';
import type { MergedList } from './lists.ts';
import { ShownGroup } from './shown-group.ts';

/**
 * Finds two tools or prompts with the same name in a group without prefixes, on servers of the config file; returns which they
 * are. Unreachable and client-added servers are not checked: later clashes are skipped and logged.
 */
export async function clashIn(gateway: Gateway, group: string): Promise<string | undefined> {
  const settings = gateway.settings.groups[group];
  if (settings === undefined || settings.prefix) return undefined;
  const view = groupView(group);
  const owner = { kind: 'connection' as const };
  const session = await gateway
    .open(LOCAL_PRINCIPAL, { view, owner, later: true, unrestricted: true })
    .catch((error: unknown) => {
      // The session limit is reached, which must not prevent the start.
      gateway.log.warn('group_not_checked', { group, error: messageOf(error) });
    });
  if (session === undefined) return undefined;
  try {
    const shown = new ShownGroup(gateway, session, settings);
    const [tools, prompts] = await Promise.all([shown.list('tools'), shown.list('prompts')]);
    const isConfigured: IsConfigured = (server) => session.servers.get(server)?.addedBy === 'config file';
    const clash =
      clashOf('tool', tools, isConfigured) ??
      clashOf('prompt', prompts, isConfigured) ??
      clashWithHelpers(gateway, tools, isConfigured);
    return clash === undefined ? undefined : `group '${group}': ${clash}`;
  } finally {
    await gateway.end(session, 'the names of the group are known');
  }
}

type IsConfigured = (server: string) => boolean;

function clashOf(what: 'tool' | 'prompt', { clashes }: MergedList, isConfigured: IsConfigured): string | undefined {
  const found = clashes.find(({ servers }) => servers.every(isConfigured));
  if (found === undefined) return undefined;
  const [one, other] = found.servers;
  // Patterns select tools only.
  const remedy = what === 'tool' ? 'leave one out with "exclude"' : 'take one server out of the group';
  return `the servers '${one}' and '${other}' both have a ${what} '${found.name}'; remove "prefix": false, or ${remedy}`;
}

function clashWithHelpers({ settings }: Gateway, { byId }: MergedList, isConfigured: IsConfigured): string | undefined {
  if (settings.all.helperTools === 'never') return undefined;
  for (const name of HELPER_NAMES) {
    const server = byId.get(name)?.server;
    if (server === undefined || !isConfigured(server)) continue;
    const both = `the server '${server}' and the gateway both have a tool '${name}'`;
    return `${both}; remove "prefix": false, leave it out with "exclude", or set "all": {"helperTools": "never"}`;
  }
  return undefined;
}
