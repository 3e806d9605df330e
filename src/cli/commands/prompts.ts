import { parseArguments } from '../arguments/given.ts';
import { operandOf, usage, type ArgumentUsage } from '../arguments/usage.ts';
import { notListed } from '../did-you-mean.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { OutFolder } from '../out-folder.ts';
import { showBlocks } from '../terminal/blocks.ts';
import { cleanLine } from '../../lib/clean.ts';
import { offers, withServer, type ServerSession } from '../server/session.ts';
import { firstLine } from './tools.ts';
import { isObject } from '../../lib/values.ts';

type Item = Record<string, unknown>;

export async function prompts(line: CommandLine): Promise<number> {
  const [server, name, ...rest] = line.operands;
  if (server === undefined) throw new UsageError('expected meanwhile prompts <server> [name [key=value …]]');
  const given = parseArguments(rest).map((argument): [string, string] => {
    const { key } = argument;
    if (argument.kind === 'text') return [key, argument.text];
    // Arguments of prompts are always strings.
    return [key, typeof argument.value === 'string' ? argument.value : JSON.stringify(argument.value)];
  });
  return withServer(line, server, async (session) => {
    const { client, stop } = session;
    const all = offers(session, 'prompts')
      ? (await stop.unless(client.listAll('prompts/list', 'prompts'))).filter(isObject)
      : [];
    return name === undefined ? list(session, all) : get(session, all, name, new Map(given));
  });
}

function list({ screen, label }: ServerSession, all: readonly Item[]): number {
  const rows = all.map((prompt) => [
    cleanLine(prompt['name']),
    argumentsOf(prompt).map(operandOf).join(' '),
    firstLine(prompt['description'] ?? prompt['title']),
  ]);
  screen.printList({ prompts: all }, rows, `${label} has no prompts`);
  return RESULT;
}

async function get(
  session: ServerSession,
  all: readonly Item[],
  name: string,
  given: Map<string, string>,
): Promise<number> {
  const { client, screen, stop, flags, label } = session;
  const prompt = all.find((each) => each['name'] === name);
  if (prompt === undefined) throw new UsageError(notListed(label, 'prompt', name, all));
  const known = argumentsOf(prompt);
  const mistakes = [
    ...[...given.keys()]
      .filter((key) => !known.some((each) => each.key === key))
      .map((key) => `there is no argument '${key}'`),
    ...known.filter((each) => each.required && !given.has(each.key)).map((each) => `'${each.key}' is missing`),
  ];
  if (mistakes.length > 0) throw new UsageError([...mistakes, '', usage('prompts', label, name, known)].join('\n'));
  const result = await stop.unless(client.request('prompts/get', { name, arguments: Object.fromEntries(given) }));
  if (screen.json) screen.printJson(result);
  else screen.print(await showMessages(result, OutFolder.from(flags, name)));
  return RESULT;
}

async function showMessages({ messages }: Item, out: OutFolder | undefined): Promise<string> {
  const lines: string[] = [];
  for (const message of Array.isArray(messages) ? messages.filter(isObject) : []) {
    const { role, content } = message;
    const blocks = (Array.isArray(content) ? content : [content]).filter(isObject);
    lines.push(`${String(role)}: ${(await showBlocks(blocks, out)).join('\n')}`);
  }
  return lines.join('\n');
}

function argumentsOf({ arguments: given }: Item): ArgumentUsage[] {
  return (Array.isArray(given) ? given.filter(isObject) : []).map(({ name, required, description }) => ({
    key: cleanLine(name),
    required: required === true,
    type: [],
    note: firstLine(description),
  }));
}
