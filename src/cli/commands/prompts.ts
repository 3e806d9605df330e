import { parseArguments } from '../arguments/given.ts';
import { didYouMean } from '../did-you-mean.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';

import { OutFolder } from '../out-folder.ts';
import { quoteWord } from '../server/shell-words.ts';
import { showBlocks } from '../terminal/blocks.ts';
import { cleanLine } from '../terminal/clean.ts';
import { table } from '../terminal/table.ts';
import { offers, visit, type Visit } from '../visit.ts';
import { firstLine } from './tools.ts';
import { isObject } from '../../lib/values.ts';

type Item = Record<string, unknown>;

export async function prompts(line: CommandLine): Promise<number> {
  const [server, name, ...rest] = line.operands;
  if (server === undefined) throw new UsageError('expected meanwhile prompts <server> [name [key=value …]]');
  const given = parseArguments(rest).map((argument): [string, string] => {
    const { key } = argument;
    if (argument.kind === 'text') return [key, argument.text];
    // Arguments of prompts are texts, always.
    return [key, typeof argument.value === 'string' ? argument.value : JSON.stringify(argument.value)];
  });
  return visit(line, server, async (stay) => {
    const { client, stop } = stay;
    const all = offers(stay, 'prompts')
      ? (await stop.unless(client.listAll('prompts/list', 'prompts'))).filter(isObject)
      : [];
    return name === undefined ? list(stay, all) : get(stay, all, name, new Map(given));
  });
}

function list({ screen, label }: Visit, all: readonly Item[]): number {
  if (screen.json) screen.printJson({ prompts: all });
  else if (all.length === 0) screen.note(`${label} has no prompts`);
  else {
    const rows = all.map((prompt) => [
      cleanLine(prompt['name']),
      argumentsOf(prompt)
        .map(({ name, required }) => (required ? `${name}=…` : `[${name}=…]`))
        .join(' '),
      firstLine(prompt['description'] ?? prompt['title']),
    ]);
    screen.printOwn(table(rows, process.stdout.isTTY ? process.stdout.columns : undefined));
  }
  return RESULT;
}

async function get(stay: Visit, all: readonly Item[], name: string, given: Map<string, string>): Promise<number> {
  const { client, screen, stop, flags, label } = stay;
  const prompt = all.find((each) => each['name'] === name);
  if (prompt === undefined) throw new UsageError(noSuchPrompt(label, name, all));
  const known = argumentsOf(prompt);
  const mistakes = [
    ...[...given.keys()]
      .filter((key) => !known.some((each) => each.name === key))
      .map((key) => `there is no argument '${key}'`),
    ...known.filter((each) => each.required && !given.has(each.name)).map((each) => `'${each.name}' is missing`),
  ];
  if (mistakes.length > 0) throw new UsageError([...mistakes, '', usage(label, name, known)].join('\n'));
  const result = await stop.unless(client.request('prompts/get', { name, arguments: Object.fromEntries(given) }));
  if (screen.json) screen.printJson(result);
  else screen.print(await showMessages(result, flags.out === undefined ? undefined : new OutFolder(flags.out, name)));
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

interface PromptArgument {
  name: string;
  required: boolean;
  description: string;
}

function argumentsOf({ arguments: given }: Item): PromptArgument[] {
  return (Array.isArray(given) ? given.filter(isObject) : []).map(({ name, required, description }) => ({
    name: cleanLine(name),
    required: required === true,
    description: firstLine(description),
  }));
}

function usage(server: string, name: string, known: readonly PromptArgument[]): string {
  const operands = known.map((each) => (each.required ? `${each.name}=…` : `[${each.name}=…]`));
  const line = ['usage: meanwhile prompts', quoteWord(server), quoteWord(name), ...operands].join(' ');
  const rows = known.map((each) => [`  ${each.name}`, each.required ? 'required' : '', each.description]);
  return [line, ...(rows.length === 0 ? [] : [table(rows)])].join('\n');
}

function noSuchPrompt(label: string, name: string, all: readonly Item[]): string {
  const names = all.map((prompt) => cleanLine(prompt['name']));
  const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
  return `${label} has no prompt '${name}'${didYouMean(name, names)}\n${known}`;
}
