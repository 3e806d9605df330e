import { ConfigError } from '../config/config-error.ts';
import { escapeControls } from '../lib/escape-controls.ts';
import { VERSION } from '../lib/version.ts';
import type { CommandName } from './definitions.ts';
import { EXIT_CODES, Failure } from './failure.ts';
import { commandIn, inFlags, isGateway, parseCommandLine, UsageError, type CommandLine } from './flags.ts';
import { assumeSize, turnColoursOff } from './terminal/capabilities.ts';
import { clean } from '../lib/clean.ts';

type Command = (line: CommandLine) => Promise<number>;

/** Loaded on demand for a fast start. */
const COMMANDS: Record<CommandName, () => Promise<Command>> = {
  stdio: async () => (await import('./commands/stdio.ts')).stdio,
  serve: async () => (await import('./commands/serve.ts')).serve,
  demo: async () => (await import('./commands/demo.ts')).demo,
  'demo-server': async () => (await import('../demo/server.ts')).demoServer,
  call: async () => (await import('./commands/call.ts')).call,
  tools: async () => (await import('./commands/tools.ts')).tools,
  resources: async () => (await import('./commands/resources.ts')).resources,
  prompts: async () => (await import('./commands/prompts.ts')).prompts,
  tasks: async () => (await import('./commands/tasks.ts')).tasks,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  top: async () => (await import('./commands/top.ts')).top,
  console: async () => (await import('./commands/console.ts')).openConsole,
  inbox: async () => (await import('./commands/inbox.ts')).inbox,
  status: async () => (await import('./commands/status.ts')).status,
  watch: async () => (await import('./commands/watch.ts')).watch,
  notify: async () => (await import('./commands/notify.ts')).notify,
  rules: async () => (await import('./commands/rules.ts')).rules,
  access: async () => (await import('./commands/access.ts')).access,
  audit: async () => (await import('./commands/audit.ts')).audit,
  store: async () => (await import('./commands/store.ts')).store,
  login: async () => (await import('./commands/login.ts')).login,
  logout: async () => (await import('./commands/login.ts')).logout,
  whoami: async () => (await import('./commands/whoami.ts')).whoami,
  link: async () => (await import('./commands/link.ts')).link,
  unlink: async () => (await import('./commands/unlink.ts')).unlink,
  import: async () => (await import('./commands/import.ts')).importServers,
  completion: async () => (await import('./commands/completion.ts')).completion,
};

const helpCommand = async (args: string[]): Promise<string> => (await import('./help.ts')).helpCommand(commandIn(args));

/** Runs the command; returns its exit code. */
export async function run(args: string[]): Promise<number> {
  return main(args).catch(async (error: unknown) => report(error, args));
}

async function main(args: string[]): Promise<number> {
  const line = parseCommandLine(args);
  if (line.noColor) turnColoursOff();
  assumeSize(process.stdout, process.stderr);
  if (!isGateway(line.command)) {
    process.stdout.on('error', cannotWrite);
    process.stderr.on('error', () => {});
  }
  if (line.version) {
    process.stdout.write(`${VERSION}\n`);
    return 0;
  }
  if (line.help !== undefined) {
    const { helpOn } = await import('./help.ts');
    process.stdout.write(helpOn(line.help, process.stdout));
    return 0;
  }
  // A client starts the gateway with pipes; a person has a terminal.
  if (!line.named && process.stdin.isTTY && process.stdout.isTTY) {
    const { greeting } = await import('./banner.ts');
    process.stdout.write(greeting(line, process.stdout));
    return 0;
  }
  const command = await COMMANDS[line.command]();
  return command(line);
}

/** Prints the error: for people, and as JSON with `--json`. */
async function report(error: unknown, args: string[]): Promise<number> {
  const { code, message, details } = asFailure(error);
  const asJson = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json');
  const json = JSON.stringify({ error: { code, message, ...details } }, null, 2);
  if (asJson) process.stdout.write(`${process.stdout.isTTY ? escapeControls(json) : json}\n`);
  const help = error instanceof UsageError ? `\nsee ${await helpCommand(args)}` : '';
  // The message may contain text of a server.
  const shown = process.stderr.isTTY ? clean(message) : message;
  process.stderr.write(`meanwhile: ${shown}${help}\n`);
  return EXIT_CODES[code];
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof UsageError) return new Failure('usage', error.message);
  if (error instanceof ConfigError) return new Failure('config', error.message);
  return new Failure('unexpected', inFlags(error));
}

/** The reader may close the pipe early: `meanwhile tools demo | head`. Gateway commands handle this themselves. */
function cannotWrite(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`meanwhile: the output cannot be written: ${error.message}\n`);
  process.exit(EXIT_CODES.unexpected);
}
