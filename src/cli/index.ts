#!/usr/bin/env node
import { ConfigError } from '../config/error.ts';
import { messageOf } from '../lib/log.ts';
import { VERSION } from '../lib/version.ts';
import { parseCommandLine, UsageError, type CommandLine } from './flags.ts';

const HELP = `meanwhile ${VERSION}: an MCP gateway in which slow calls become tasks and questions find an answer

Usage: meanwhile [command] [flags]

Commands
  stdio     be an MCP server on standard input and output (the default)
  serve     be an MCP server at http://127.0.0.1:8080/mcp
  demo      play the story: a call that becomes a task, a question, an answer, a result

Flags, each also as an environment variable and in the config file
  --config FILE      MEANWHILE_CONFIG     servers and settings
  --port N           MEANWHILE_PORT       port for serve; 0 = any free one
  --host NAME        MEANWHILE_HOST       address for serve
  --store PATH       MEANWHILE_STORE      where tasks are kept, or :memory:
  --log-level LEVEL  MEANWHILE_LOG_LEVEL  debug, info, warn, error, silent
  --help, --version
`;

type Command = (line: CommandLine) => Promise<number>;

/** Loaded on demand: the first answer should not wait for what it does not need. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  stdio: async () => (await import('./commands/stdio.ts')).stdio,
  serve: async () => (await import('./commands/serve.ts')).serve,
  demo: async () => (await import('./commands/demo.ts')).demo,
  'demo-server': async () => (await import('../demo/server.ts')).demoServer,
};

async function main(): Promise<number> {
  const line = parseCommandLine(process.argv.slice(2));
  if (line.version) {
    process.stdout.write(`${VERSION}\n`);
    return 0;
  }
  if (line.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const load = Object.hasOwn(COMMANDS, line.command) ? COMMANDS[line.command] : undefined;
  if (load === undefined) {
    throw new UsageError(`no command '${line.command}'; there are stdio, serve and demo`);
  }
  const command = await load();
  return command(line);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const usage = error instanceof UsageError ? '\nmeanwhile --help shows what there is' : '';
    process.stderr.write(`meanwhile: ${messageOf(error)}${usage}\n`);
    process.exit(error instanceof UsageError || error instanceof ConfigError ? 2 : 1);
  },
);
