import { redactUrl } from '../../lib/redact.ts';
import { cleanLine } from '../../lib/clean.ts';
import type { FoundServer } from './find-server.ts';

/** The name of a server in messages, without the parts of a URL or command that may be secret. */
export function serverLabel({ name, config, inConfigFile }: FoundServer): string {
  if (inConfigFile === true || /^[A-Za-z0-9_.-]+$/.test(name)) return name;
  return 'url' in config ? redactUrl(config.url) : cleanLine(commandLabel(config.command, config.args ?? []));
}

const SCRIPT = /^[\w./][\w./-]*\.(?:[cm]?[jt]sx?|py|rb)$/;

/** The command and the program or package it runs. Anything after a flag may be a secret. */
function commandLabel(path: string, args: readonly string[]): string {
  const command = shortPath(path);
  const asked = args[0] === '-y' || args[0] === '--yes' ? 1 : 0;
  const [program = '', ...rest] = args.slice(asked);
  if (!/^[@\w./][@\w./-]*$/.test(program)) return args.length === 0 ? command : `${command} …`;
  // `npx tsx order.ts`: the file says more than the program that runs it.
  const script = /^\w+$/.test(program) && SCRIPT.test(rest[0] ?? '') ? rest.shift() : undefined;
  const words = [command, program, ...(script === undefined ? [] : [script])].map(shortPath);
  return `${words.join(' ')}${rest.length === 0 ? '' : ' …'}`;
}

/** The end of a long path. */
function shortPath(path: string): string {
  const steps = path.split('/');
  return path.startsWith('/') && steps.length > 3 ? `…/${steps.slice(-2).join('/')}` : path;
}
