import { isAbsolute, join, relative } from 'node:path';
import { VERSION } from '../lib/version.ts';
import { configHint, type ProgramConfig } from './config.ts';
import { cleanLine } from './terminal/clean.ts';

/** For a person who started the gateway on a terminal: where it is, what is there, and where from. */
export function servedLine(config: ProgramConfig, url: string, cwd: string, home: string): string {
  const { servers, file, settings } = config;
  const names = [...servers.keys()];
  const path = new URL(url).pathname;
  const also = names.length === 1 ? `also at ${path}/${names[0]}` : `each also at ${path}/NAME`;
  const hint = configHint(config);
  const facts = [
    `meanwhile ${VERSION} at ${url}`,
    names.length === 0 ? 'no servers' : `servers: ${names.join(', ')} (${also})`,
    hint === undefined ? `config ${short(file ?? '', cwd, '')}` : `no config file: ${hint}`,
    `store ${settings.store === ':memory:' ? settings.store : short(settings.store, home, '~')}`,
    'Ctrl-C stops',
  ];
  return cleanLine(facts.join('; '));
}

/** Below this folder only what follows it. */
function short(path: string, folder: string, instead: string): string {
  const rest = relative(folder, path);
  return rest === '' || rest.startsWith('..') || isAbsolute(rest) ? path : join(instead, rest);
}
