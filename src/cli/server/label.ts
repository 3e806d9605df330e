import { redactUrl } from '../../lib/redact.ts';
import { cleanLine } from '../terminal/clean.ts';
import type { FoundServer } from './find-server.ts';

/** A server in messages: what may be secret in a URL or a command is left out. */
export function labelOf({ name, config, inConfigFile }: FoundServer): string {
  if (inConfigFile === true || /^[A-Za-z0-9_.-]+$/.test(name)) return name;
  return 'url' in config ? redactUrl(config.url) : cleanLine(commandLabel(config.command, config.args ?? []));
}

const SCRIPT = /^[\w./][\w./-]*\.(?:[cm]?[jt]sx?|py|rb)$/;

/** The command and the program or package it runs. After a flag anything may be a secret. */
function commandLabel(path: string, args: readonly string[]): string {
  const command = shortPath(path);
  const asked = args[0] === '-y' || args[0] === '--yes' ? 1 : 0;
  const [program = '', ...rest] = args.slice(asked);
  if (!/^[@\w./][@\w./-]*$/.test(program)) return args.length === 0 ? command : `${command} …`;
  // `npx tsx order.ts`: the file tells more than what runs it.
  const script = /^\w+$/.test(program) && SCRIPT.test(rest[0] ?? '') ? rest.shift() : undefined;
  const words = [command, program, ...(script === undefined ? [] : [script])].map(shortPath);
  return `${words.join(' ')}${rest.length === 0 ? '' : ' …'}`;
}

/** The end of a long path, which is what tells it from others. */
function shortPath(path: string): string {
  const steps = path.split('/');
  return path.startsWith('/') && steps.length > 3 ? `…/${steps.slice(-2).join('/')}` : path;
}
