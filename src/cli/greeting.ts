import { resolve } from 'node:path';
import { describeConfig } from './banner.ts';
import { chooseConfig } from './config.ts';
import type { CommandLine } from './flags.ts';
import { helpOn } from './help.ts';
import { wrap } from './terminal/width.ts';

/** For a person who typed `meanwhile` and nothing else: which config file the commands would use, and help. */
export function greeting({ flags }: Pick<CommandLine, 'flags'>, output: NodeJS.WriteStream): string {
  const cwd = process.cwd();
  const choice = chooseConfig(flags, 'http');
  const named = flags.config ?? process.env['MEANWHILE_CONFIG'];
  const file = resolve(cwd, (choice.source === 'named' ? named : undefined) ?? 'meanwhile.json');
  const config = wrap(`Config: ${describeConfig({ ...choice, file }, cwd)}`, output.columns).join('\n        ');
  return `${helpOn('program', output)}\n${config}\n`;
}
