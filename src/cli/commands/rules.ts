/** Shows which rule decides on a call, and proposes rules. */

import { mismatch, type Condition } from '../../core/policy/decide.ts';
import { HINTS, hintsOf, type Hints } from '../../core/policy/hints.ts';
import type { Rule } from '../../core/policy/rule.ts';
import { cleanLine } from '../../lib/clean.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';
import { parseArguments, readArguments } from '../arguments/given.ts';
import { toolArguments } from '../arguments/tool-arguments.ts';
import { configFor, configHint, type ProgramConfig } from '../config.ts';
import { didYouMean } from '../did-you-mean.ts';
import { Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { propose, sortTools } from '../rules/propose.ts';
import { readTools, type ReadTools } from '../rules/read-tools.ts';
import { table } from '../terminal/layout.ts';
import { Screen } from '../terminal/screen.ts';
import { parseDuration } from '../units.ts';

const USAGE = 'expected meanwhile rules test <server> <tool> [key=value …], or meanwhile rules init';
const DEFAULT_TIMEOUT = '15s';

export async function rules(line: CommandLine): Promise<number> {
  const [action, ...operands] = line.operands;
  if (action === 'test') return test(line, operands);
  if (action === 'init' && operands.length === 0) return init(line);
  throw new UsageError(USAGE);
}

const limitOf = ({ timeout: text = DEFAULT_TIMEOUT }: Flags) => ({ ms: parseDuration(text, 'timeout'), text });

// --- test ---

interface Checked {
  index: number;
  rule: Rule;
  /** The condition that the call does not meet. */
  mismatch?: Condition;
}

async function test(line: CommandLine, [server, tool, ...rest]: string[]): Promise<number> {
  if (server === undefined || tool === undefined) throw new UsageError(USAGE);
  const { flags } = line;
  const given = parseArguments(rest);
  const base = flags.args === undefined ? {} : await readArguments(flags.args, process.stdin);
  const screen = new Screen(flags);
  const loaded = await configFor(line);
  for (const warning of loaded.warnings) screen.note(warning);
  const { settings, servers } = loaded;
  const config = servers.get(server);
  // Clients may add servers of other names, and rules can be for these, too.
  const read: ReadTools =
    config === undefined
      ? { problem: `it is not in the config file${didYouMean(server, [...servers.keys()])}` }
      : await readTools(server, config, settings, flags, limitOf(flags));
  const listed = 'tools' in read ? read.tools.find(({ name }) => name === tool) : undefined;
  // Arguments that are missing do not matter here.
  const schema = isObject(listed?.inputSchema) ? { ...listed.inputSchema, required: [] } : {};
  const found = toolArguments(schema, given, base);
  if ('mistakes' in found) throw new UsageError(found.mistakes.join('\n'));
  const { args } = found;
  const hints = hintsOf(listed?.annotations);
  const call = { server, tool, principal: flags.principal ?? 'local', args };
  const checked = settings.rules.map((rule, index): Checked => {
    const failed = mismatch(rule, call, hints);
    return { index, rule, ...(failed !== undefined && { mismatch: failed }) };
  });
  const decisive = checked.find((each) => each.mismatch === undefined);
  if ('problem' in read) screen.note(`the tools of ${server} cannot be listed: ${read.problem}`);
  else if (listed === undefined)
    screen.note(
      `${server} lists no tool '${tool}'${didYouMean(
        tool,
        read.tools.map(({ name }) => name),
      )}`,
    );
  if (screen.json) {
    screen.printJson({
      then: decisive?.rule.then ?? 'allow',
      rule: decisive?.index ?? null,
      arguments: args,
      annotations: hints,
      listed: listed !== undefined,
      rules: checked,
    });
  } else
    screen.printOwn(described(screen, loaded, { checked, decisive, hints, annotations: listed?.annotations, args }));
  return RESULT;
}

interface Decided {
  checked: readonly Checked[];
  decisive: Checked | undefined;
  hints: Hints;
  annotations: unknown;
  args: Record<string, unknown>;
}

function described({ style }: Screen, config: ProgramConfig, decided: Decided): string {
  const { checked, decisive, hints, annotations, args } = decided;
  const given = isObject(annotations) ? annotations : {};
  const place = config.file ?? configHint(config) ?? 'the settings';
  const rows = checked.map(({ index, rule, mismatch: failed }) => {
    const after = decisive !== undefined && index > decisive.index;
    const state = after ? 'not reached' : failed === undefined ? 'decides' : `does not match: ${failed}`;
    return [`  rules[${index}]`, state, cleanLine(stringifyExact(rule))];
  });
  const why =
    decisive === undefined
      ? `${checked.length === 0 ? 'there are no rules' : 'no rule matches'}, so the call is made`
      : `rules[${decisive.index}] decides`;
  return [
    `${style.strong(decisive?.rule.then ?? 'allow')}: ${why} (${cleanLine(place)})`,
    ...(rows.length === 0 ? [] : [table(rows, process.stdout.isTTY ? process.stdout.columns : undefined)]),
    `arguments: ${cleanLine(stringifyExact(args))}`,
    `annotations: ${HINTS.map((hint) => `${hint}=${hints[hint]}${typeof given[hint] === 'boolean' ? '' : ' (default)'}`).join(', ')}`,
  ].join('\n');
}

// --- init ---

async function init(line: CommandLine): Promise<number> {
  const { flags } = line;
  const screen = new Screen(flags);
  const loaded = await configFor(line);
  const { servers, settings } = loaded;
  const limit = limitOf(flags);
  const read = await Promise.all(
    [...servers].map(async ([name, config]) => ({ name, ...(await readTools(name, config, settings, flags, limit)) })),
  );
  for (const each of read) if ('problem' in each) screen.note(`skipping ${each.name}: ${each.problem}`);
  const sorted = read.flatMap((each) => ('tools' in each ? [sortTools(each.name, each.tools)] : []));
  if (sorted.length === 0) throw new Failure('unreachable', 'no server could list its tools');
  const { rules: proposed, text } = propose(sorted);
  if (screen.json) screen.printJson({ rules: proposed, servers: sorted });
  else {
    screen.printOwn(text);
    screen.note(`Review the rules, then put them into "meanwhile" of ${loaded.file ?? 'your config file'}.`);
    if (settings.rules.length > 0)
      screen.note(`It already has ${settings.rules.length} rules; the first rule that matches decides.`);
  }
  return RESULT;
}
