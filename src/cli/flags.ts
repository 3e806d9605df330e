import { parseArgs } from 'node:util';

export interface CommandLine {
  command: string;
  flags: { config?: string; port?: string; host?: string; store?: string; 'log-level'?: string };
  help: boolean;
  version: boolean;
}

export class UsageError extends Error {}

const FLAGS = {
  config: { type: 'string' },
  port: { type: 'string' },
  host: { type: 'string' },
  store: { type: 'string' },
  'log-level': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

export function parseCommandLine(args: string[]): CommandLine {
  let parsed;
  try {
    parsed = parseArgs({ args, options: FLAGS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const [command = 'stdio', ...rest] = parsed.positionals;
  if (rest.length > 0) throw new UsageError(`unexpected argument '${rest[0]}'`);
  const { help = false, version = false, ...flags } = parsed.values;
  return { command, flags, help, version };
}
