import type { Tool } from '../../client/types.ts';
import { toolUsage } from '../arguments/usage.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { table } from '../terminal/layout.ts';
import { listTools, offers, withServer, type ServerSession } from '../server/session.ts';
import { notListed } from '../did-you-mean.ts';

export async function tools(line: CommandLine): Promise<number> {
  const [server, ...names] = line.operands;
  if (server === undefined) throw new UsageError('expected meanwhile tools <server> [tool …]');
  return withServer(line, server, async (session) => {
    const { screen, label } = session;
    const all = offers(session, 'tools') ? await listTools(session) : [];
    if (names.length === 0) {
      if (screen.json) screen.printJson({ tools: all });
      else if (all.length > 0) screen.printOwn(listing(session, all));
      else screen.note(`${label} has no tools`);
      return RESULT;
    }
    const chosen = names.map((name) => {
      const tool = all.find((each) => each.name === name);
      if (tool === undefined) throw new UsageError(notListed(label, 'tool', name, all));
      return tool;
    });
    if (screen.json) screen.printJson(chosen.length === 1 ? chosen[0] : { tools: chosen });
    else screen.printOwn(chosen.map((tool) => details(session, tool)).join('\n\n'));
    return RESULT;
  });
}

function listing({ screen }: ServerSession, all: readonly Tool[]): string {
  const rows = all.map((tool) => [cleanLine(tool.name), asTask(tool), firstLine(tool.description ?? tool.title)]);
  // Omit an empty column.
  const hasTasks = rows.some(([, task]) => task !== '');
  const shown = hasTasks ? rows : rows.map(([name = '', , about = '']) => [name, about]);
  return table(shown, process.stdout.isTTY ? process.stdout.columns : undefined)
    .split('\n')
    .map((line, index) => {
      const [name = ''] = rows[index] ?? [];
      return line.startsWith(name) ? screen.style.strong(name) + line.slice(name.length) : line;
    })
    .join('\n');
}

function asTask({ execution }: Tool): string {
  switch (execution?.taskSupport) {
    case 'required':
      return 'task';
    case 'optional':
      return 'task?';
    case 'forbidden':
    case undefined:
      return '';
  }
}

function details({ screen, label }: ServerSession, tool: Tool): string {
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = tool;
  const hints = Object.entries(annotations ?? {})
    .filter(([key, value]) => key !== 'title' && typeof value === 'boolean')
    .map(([key, value]) => `${cleanLine(key)}=${String(value)}`);
  const heading = screen.style.strong(cleanLine(name)) + (title === undefined ? '' : `: ${cleanLine(title)}`);
  const task = execution?.taskSupport;
  return [
    heading,
    ...(description === undefined ? [] : [clean(description)]),
    '',
    toolUsage(label, tool),
    '',
    ...(task === undefined || task === 'forbidden' ? [] : [`runs as a task: ${task}`]),
    ...(hints.length === 0 ? [] : [`hints: ${hints.join(' ')}`]),
    `input schema: ${schema(inputSchema)}`,
    ...(outputSchema === undefined ? [] : [`output schema: ${schema(outputSchema)}`]),
  ].join('\n');
}

const schema = (value: unknown): string => clean(JSON.stringify(value, null, 2));

export function firstLine(text: unknown): string {
  const [first = ''] = typeof text === 'string' ? clean(text).trim().split('\n') : [];
  return cleanLine(first);
}
