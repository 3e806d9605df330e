/** Whether groups and servers fit together, which the schema of the file cannot say. */

import { known } from '../core/errors.ts';
import { ALL_SERVERS, serverFilter } from '../core/groups.ts';
import type { GroupSettings } from '../core/settings.ts';
import { closest } from '../lib/closest.ts';
import { isGlob } from '../lib/pattern.ts';
import type { Mistake, Path } from './expand.ts';

interface Findings {
  mistakes: Mistake[];
  warnings: Mistake[];
}

export function checkGroups(
  groups: Readonly<Record<string, GroupSettings>>,
  servers: readonly string[],
  disabled: readonly string[],
): Findings {
  const mistakes = servers.includes(ALL_SERVERS) ? [reserved(['mcpServers', ALL_SERVERS], 'server')] : [];
  const warnings: Mistake[] = [];
  for (const [name, group] of Object.entries(groups)) {
    const path = ['meanwhile', 'groups', name];
    if (name === ALL_SERVERS) mistakes.push(reserved(path, 'group'));
    else if (servers.includes(name)) {
      const message = `the group '${name}' and the server '${name}' would both be at /mcp/${name}; rename one of them`;
      mistakes.push({ path, message });
    }
    for (const [index, each] of (group.servers ?? []).entries()) {
      const place = [...path, 'servers', index];
      if (!isGlob(each)) mistakes.push(...missingServer(place, each, servers, disabled));
      else if (!servers.some(serverFilter({ servers: [each] }))) {
        warnings.push({ path: place, message: `the pattern '${each}' matches no server; ${known(servers)}` });
      }
    }
    if (!servers.some(serverFilter(group))) warnings.push({ path, message: 'this group has no server' });
  }
  return { mistakes, warnings };
}

function reserved(path: Path, kind: 'server' | 'group'): Mistake {
  return { path, message: `/mcp/${ALL_SERVERS} is the endpoint of all servers; give this ${kind} another name` };
}

function missingServer(path: Path, name: string, servers: readonly string[], disabled: readonly string[]): Mistake[] {
  if (servers.includes(name)) return [];
  if (disabled.includes(name)) {
    return [{ path, message: `the server '${name}' is disabled; enable it, or remove it from the group` }];
  }
  const near = closest(name, servers);
  const suggestion = near === undefined ? '' : `did you mean '${near}'? `;
  return [{ path, message: `no server '${name}'; ${suggestion}${known(servers)}` }];
}
