import { quoteWord } from './server/shell-words.ts';

interface UnknownOption {
  option: string;
  args: readonly string[];
  command: string | undefined;
}

/** Programs that start others: alone as the server they are the beginning of an unquoted command. */
const LAUNCHERS = new Set(['npx', 'bunx', 'uvx', 'pnpx', 'node', 'bun', 'deno', 'python', 'python3', 'uv']);

/** Commands that take a server, and the position of the server. */
const SERVER_AT: Record<string, number> = { call: 1, tools: 1, resources: 1, prompts: 1, doctor: 1, tasks: 2 };

/** Explains what was probably meant with an unknown option. */
export function hintFor(unknown: UnknownOption): string {
  return unquoted(unknown.args, unknown.command) ?? ofStdio(unknown) ?? argument(unknown) ?? AFTER;
}

const AFTER = '\nto pass a value that starts with -, put it after --';

/** `call npx -y some-server echo`: without quotes the end of the command is not known. */
export function unquoted(args: readonly string[], command: string | undefined): string | undefined {
  const at = command === undefined ? undefined : SERVER_AT[command];
  if (command === undefined || at === undefined) return undefined;
  const from = args.indexOf(command) + at;
  const [server = '', ...rest] = args.slice(from);
  if (!LAUNCHERS.has(server) || rest.length === 0) return undefined;
  const before = ['meanwhile', ...args.slice(args.indexOf(command), from)].join(' ');
  return `\nput the command in quotes: ${before} "${server} ${rest[0]} …" …`;
}

function ofStdio({ option, args, command }: UnknownOption): string | undefined {
  if (option !== '--server' || command !== 'serve') return undefined;
  const { value = 'NAME' } = valueOf(option, args);
  return `\n--server is for stdio; over HTTP that server is at /mcp/${value}`;
}

/** `--topic tea`, as in many other programs. */
function argument({ option, args, command }: UnknownOption): string | undefined {
  if ((command !== 'call' && command !== 'prompts') || !option.startsWith('--')) return undefined;
  const { value } = valueOf(option, args);
  if (value === undefined) return undefined;
  return `\nan argument is written without dashes: ${quoteWord(`${option.slice(2)}=${value}`)}`;
}

function valueOf(option: string, args: readonly string[]): { value?: string } {
  const joined = args.find((arg) => arg.startsWith(`${option}=`));
  const next = args[args.indexOf(option) + 1];
  const value = joined === undefined ? next : joined.slice(option.length + 1);
  return value === undefined || value.startsWith('-') ? {} : { value };
}
