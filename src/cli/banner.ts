/** What a person sees first on a terminal: after `meanwhile serve`, and after `meanwhile` alone. */

import { isAbsolute, join, relative, resolve } from 'node:path';
import { ALL_SERVERS } from '../core/groups.ts';
import { isPostgresUrl, withoutSecrets } from '../lib/postgres-url.ts';
import { VERSION } from '../lib/version.ts';
import { chooseConfig, configHint, type ProgramConfig } from './config.ts';
import type { CommandLine } from './flags.ts';
import { helpOn } from './help.ts';
import { clean } from '../lib/clean.ts';
import type { Style } from './terminal/style.ts';
import { displayWidth, pad, wrap } from './terminal/layout.ts';

const INDENT = '  ';
const LABEL_COLUMNS = 9;
/** More servers would push the URL of the hub off the screen. */
const SHOWN_SERVERS = 12;

export interface BannerOptions {
  cwd: string;
  home: string;
  columns: number;
  style: Style;
}

/** The URLs of all servers as one, of the hub and of each server, the link that opens the console, and the paths of config and store. */
export function serveBanner(
  config: ProgramConfig,
  { hub: url, console }: { hub: string; console: string },
  options: BannerOptions,
): string {
  const { cwd, home, columns, style } = options;
  const { settings } = config;
  const rows: [label: string, lines: string[]][] = [
    ['All', [`${url}/${ALL_SERVERS}`]],
    ['Hub', [url]],
    ['Servers', serverLines([...config.servers.keys()], url)],
    ['Console', [console]],
    ['Config', wrap(describeConfig(config, cwd), columns - INDENT.length - LABEL_COLUMNS)],
    ['Store', [describeStore(settings.store, home)]],
  ];
  const lines = rows.flatMap(([label, values]) =>
    values.map((value, index) => INDENT + style.faint(pad(index === 0 ? label : '', LABEL_COLUMNS)) + clean(value)),
  );
  return [style.strong(`meanwhile ${VERSION}`), '', ...lines, '', 'Ctrl-C stops the gateway', ''].join('\n');
}

/** For `meanwhile` alone: help, and which config file the commands would use. */
export function greeting({ flags }: Pick<CommandLine, 'flags'>, output: NodeJS.WriteStream): string {
  const cwd = process.cwd();
  const choice = chooseConfig(flags, 'http');
  const named = flags.config ?? process.env['MEANWHILE_CONFIG'];
  const file = resolve(cwd, (choice.source === 'named' ? named : undefined) ?? 'meanwhile.json');
  const config = wrap(`Config: ${describeConfig({ ...choice, file }, cwd)}`, output.columns).join('\n        ');
  return `${helpOn('program', output)}\n${config}\n`;
}

/** Which config file is used, and why. */
function describeConfig(config: Pick<ProgramConfig, 'source' | 'file' | 'unusedFile'>, cwd: string): string {
  switch (config.source) {
    case 'named':
      return short(config.file ?? '', cwd, '');
    case 'folder':
      return `${short(config.file ?? '', cwd, '')} (in this folder)`;
    case 'none':
      return `none; ${configHint(config)}`;
  }
}

function describeStore(store: string, home: string): string {
  if (isPostgresUrl(store)) return withoutSecrets(store);
  return store === ':memory:' ? store : short(store, home, '~');
}

function serverLines(names: readonly string[], url: string): string[] {
  if (names.length === 0) return ['none yet: add them to "mcpServers" in the config file'];
  const shown = names.slice(0, SHOWN_SERVERS);
  const width = Math.max(...shown.map(displayWidth));
  const more = names.length - shown.length;
  return [
    ...shown.map((name) => `${pad(name, width)}  ${url}/${encodeURIComponent(name)}`),
    ...(more === 0 ? [] : [`and ${more} more, each at ${url}/NAME`]),
  ];
}

/** A path below the folder without the folder. */
function short(path: string, folder: string, instead: string): string {
  const rest = relative(folder, path);
  return rest === '' || rest.startsWith('..') || isAbsolute(rest) ? path : join(instead, rest);
}
