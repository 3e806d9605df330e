import type { Gateway } from '../../core/gateway.ts';
import { groupView } from '../../core/session/kind.ts';
import { LOCAL_PRINCIPAL } from '../http/guard.ts';
import { HELPER_TOOLS } from '../hub/hub.ts';
import type { MergedList } from './lists.ts';
import { ShownGroup } from './shown-group.ts';

/**
 * Looks for two tools or prompts of the same name in a group without prefixes; says which they are. A server that cannot be
 * reached now is not looked at: what clashes later is left out, and logged.
 */
export async function clashIn(gateway: Gateway, group: string): Promise<string | undefined> {
  const settings = gateway.settings.groups[group];
  if (settings === undefined || settings.prefix) return undefined;
  const view = groupView(group);
  const session = await gateway.open(LOCAL_PRINCIPAL, { view, owner: { kind: 'connection' }, later: true });
  try {
    const shown = new ShownGroup(gateway, session, settings);
    const [tools, prompts] = await Promise.all([shown.list('tools'), shown.list('prompts')]);
    return (
      clashOf('tool', group, tools) ?? clashOf('prompt', group, prompts) ?? clashWithHelpers(gateway, group, tools)
    );
  } finally {
    await gateway.end(session, 'the names of the group are known');
  }
}

const REMEDY = 'remove "prefix": false, or leave one out with "exclude"';

function clashOf(what: string, group: string, { clashes: [first] }: MergedList): string | undefined {
  if (first === undefined) return undefined;
  const [one, other] = first.servers;
  return `group '${group}': the servers '${one}' and '${other}' both have a ${what} '${first.name}'; ${REMEDY}`;
}

function clashWithHelpers({ settings }: Gateway, group: string, { byId }: MergedList): string | undefined {
  const taken = settings.all.helperTools === 'never' ? [] : HELPER_TOOLS;
  const found = taken.find(({ name }) => byId.has(name));
  if (found === undefined) return undefined;
  const server = byId.get(found.name)?.server;
  return (
    `group '${group}': the server '${server}' and the gateway both have a tool '${found.name}'; ${REMEDY}, or set ` +
    '"all": {"helperTools": "never"}'
  );
}
