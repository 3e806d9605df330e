import { SHELLS, type Shell } from '../completion.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';

const isShell = (name: string): name is Shell => Object.hasOwn(SHELLS, name);

export async function completion({ operands }: CommandLine): Promise<number> {
  const [shell = '', extra] = operands;
  if (!isShell(shell) || extra !== undefined) throw new UsageError('expected meanwhile completion bash, zsh or fish');
  process.stdout.write(SHELLS[shell]());
  return RESULT;
}
