/** Changes to files of the user: shown as a diff and confirmed before they are made. */

import { messageOf } from '../../lib/log.ts';
import { Failure } from '../failure.ts';
import type { Flags } from '../flags.ts';
import { Prompter } from '../terminal/prompter.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import type { Screen } from '../terminal/screen.ts';
import { diff } from './diff.ts';
import { readTextFile, removeFile, replaceFile } from './files.ts';

export interface FileChange {
  title: string;
  file: string;
  /** `undefined`: there is no file. */
  before: string | undefined;
  /** `undefined`: the file is removed. */
  after: string | undefined;
  /** Values that may be shown. */
  isOpen: (value: string) => boolean;
  /** A folder that was created for the file and is removed with it. */
  madeFolder?: string | undefined;
}

export function showChange(change: FileChange, screen: Screen): void {
  const { style } = screen;
  const paint = (line: string): string => {
    if (line.startsWith('+')) return style.good(line);
    return line.startsWith('-') ? style.bad(line) : style.faint(line);
  };
  const { title, file, before, after } = change;
  const what = after === undefined ? ' (removed)' : before === undefined ? ' (new file)' : '';
  const lines = diff(before ?? '', after ?? '', change.isOpen).map((line) => `  ${paint(clean(line))}`);
  screen.printOwn([`${style.strong(title)}  ${cleanLine(file)}${what}`, ...lines].join('\n'));
}

/** Returns if the changes may be made, else throws. */
export async function confirm(count: number, { yes }: Flags, screen: Screen): Promise<void> {
  if (yes) return;
  const these = count === 1 ? 'this change' : `these ${count} changes`;
  if (!screen.attended) {
    throw new Failure(
      'unanswered',
      `nothing was changed: there is no terminal for the confirmation; --yes makes ${these} without asking`,
    );
  }
  const asked = await new Prompter().choose(new AbortController().signal, `Make ${these}?`, [
    { value: true, label: 'Yes' },
    { value: false, label: 'No' },
  ]);
  if (asked.kind === 'interrupted') throw new Failure('interrupted', 'interrupted; nothing was changed');
  if (asked.kind !== 'answered' || !asked.value) throw new Failure('cancelled', 'nothing was changed');
}

/** Returns the first folder that had to be created. Throws if the file has changed since it was shown, or cannot be written. */
export function make({ file, before, after, madeFolder }: FileChange): string | undefined {
  if (readTextFile(file) !== before) throw new Error('another program has just changed it; run the command again');
  try {
    if (after !== undefined) return replaceFile(file, after);
    removeFile(file, madeFolder);
    return undefined;
  } catch (error) {
    throw new Error(`it cannot be written: ${messageOf(error)}`, { cause: error });
  }
}
