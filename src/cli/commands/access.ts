/** Shows what a principal may use, and which access rule decides. */

import { Access, type AccessRule, type Grant } from '../../core/access/access.ts';
import { withContained } from '../../core/access/scopes.ts';
import { factReader, unmetConditions } from '../../core/access/whom.ts';
import type { Identity } from '../../core/ports/identity.ts';
import { serverFilter } from '../../core/groups.ts';
import { cleanLine } from '../../lib/clean.ts';
import { compileGlob } from '../../lib/pattern.ts';
import { configFor, configHint, type ProgramConfig } from '../config.ts';
import { didYouMean } from '../did-you-mean.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { table } from '../terminal/layout.ts';
import { Screen } from '../terminal/screen.ts';

const USAGE = 'expected meanwhile access test <principal> [server] [tool]';

interface Asked {
  identity: Identity;
  server: string;
  tool: string | undefined;
}

export async function access(line: CommandLine): Promise<number> {
  const [action, principal, server, tool, ...others] = line.operands;
  if (action !== 'test' || principal === undefined || others.length > 0) throw new UsageError(USAGE);
  const { flags } = line;
  const screen = new Screen(flags);
  const config = await configFor(line);
  for (const warning of config.warnings) screen.note(warning);
  const { access: rules, auth } = config.settings;
  const known = ['local', ...Object.keys(auth.tokens)];
  if (auth.issuers.length === 0 && !known.includes(principal)) {
    screen.note(`no client can be '${principal}': it has no token${didYouMean(principal, known)}`);
  }
  const granted = new Set(flags.scope ?? []);
  const scopes = auth.scopes === false ? granted : withContained(granted, auth.scopes);
  const identity = { principal, facts: factReader(rules ?? [])?.(claimsOf(flags), scopes) };
  const grant = rules && new Access(rules).grantOf(identity);
  if (server === undefined) listServers(screen, config, grant);
  else {
    if (!config.servers.has(server)) {
      screen.note(`'${server}' is not in the config file${didYouMean(server, [...config.servers.keys()])}`);
    }
    decide(screen, config, rules, grant, { identity, server, tool });
  }
  return RESULT;
}

/** Several values of one claim are a list. */
function claimsOf({ claim = [] }: Flags): Record<string, string[]> {
  const claims: Record<string, string[]> = {};
  for (const each of claim) {
    const at = each.indexOf('=');
    if (at < 1) throw new UsageError(`expected --claim NAME=VALUE, got '${each}'`);
    (claims[each.slice(0, at)] ??= []).push(each.slice(at + 1));
  }
  return claims;
}

function listServers(screen: Screen, { servers }: ProgramConfig, grant: Grant | undefined): void {
  const found = [...servers.keys()].map((server) => {
    const deciding = grant?.decidingOn(server);
    return { server, allowed: grant === undefined || deciding?.allows === true, rule: deciding?.index ?? null };
  });
  if (screen.json) screen.printJson({ servers: found });
  else if (found.length === 0) screen.note('the config file has no servers');
  else {
    const rows = found.map(({ server, allowed, rule }) => [
      cleanLine(server),
      allowed ? 'allow' : 'deny',
      rule === null ? (grant ? 'no rule matches' : 'there are no access rules') : `access[${rule}]`,
    ]);
    screen.printOwn(table(rows, process.stdout.isTTY ? process.stdout.columns : undefined));
  }
}

function decide(
  screen: Screen,
  config: ProgramConfig,
  rules: readonly AccessRule[] = [],
  grant: Grant | undefined,
  asked: Asked,
): void {
  const { server, tool } = asked;
  const deciding = grant?.decidingOn(server, tool);
  const allowed = grant === undefined || deciding?.allows === true;
  const checked = rules.map((rule, index) => ({ index, rule, unmet: unmetBy(rule, asked) }));
  const then = allowed ? 'allow' : 'deny';
  if (screen.json) {
    screen.printJson({ then, rule: deciding?.index ?? null, rules: checked });
    return;
  }
  const place = cleanLine(config.file ?? configHint(config) ?? 'the settings');
  const why =
    deciding === undefined
      ? grant === undefined
        ? 'there are no access rules, so everything is allowed'
        : 'no rule matches, so nothing is allowed'
      : `access[${deciding.index}] decides`;
  const rows = checked.map(({ index, rule, unmet }) => {
    const after = deciding !== undefined && index > deciding.index;
    const isDeciding = index === deciding?.index;
    const mismatch = unmet.length > 0 ? `does not match: ${unmet.join(', ')}` : 'is about some tools only';
    const state = after ? 'not reached' : isDeciding ? 'decides' : mismatch;
    return [`  access[${index}]`, state, cleanLine(JSON.stringify(rule))];
  });
  const lines = [
    `${screen.style.strong(then)}: ${why} (${place})`,
    ...(rows.length === 0 ? [] : [table(rows, process.stdout.isTTY ? process.stdout.columns : undefined)]),
  ];
  screen.printOwn(lines.join('\n'));
}

/** The conditions of a rule that do not hold. */
function unmetBy(rule: AccessRule, { identity, server, tool }: Asked): string[] {
  const hasTool = tool === undefined || (rule.tools?.some((pattern) => compileGlob(pattern)(tool)) ?? true);
  return [
    ...unmetConditions(rule, identity),
    ...(serverFilter(rule)(server) ? [] : ['servers']),
    ...(hasTool ? [] : ['tools']),
  ];
}
