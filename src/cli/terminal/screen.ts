import { escapeControls } from '../../lib/escape-controls.ts';
import type { Flags } from '../flags.ts';
import { canDraw } from './capabilities.ts';
import { clean } from '../../lib/clean.ts';
import { table } from './layout.ts';
import { LiveLine } from './live-line.ts';
import { PLAIN, styleFor, type Style } from './style.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

/** The output of a command: results on standard output, messages on standard error. */
export class Screen {
  readonly json: boolean;
  /** A person can be asked: stdin and stderr are a terminal that can show prompts. */
  readonly attended: boolean;
  /** For standard output. */
  readonly style: Style;
  readonly live: LiveLine | undefined;

  constructor({ json = false, args }: Flags) {
    this.json = json;
    // With `--args -`, standard input contains the arguments.
    this.attended = process.stdin.isTTY && process.stderr.isTTY && canDraw() && args !== '-';
    this.style = json ? PLAIN : styleFor(process.stdout);
    this.live = this.attended ? new LiveLine(process.stderr) : undefined;
  }

  /** Prints text that may come from a server. */
  print(text: string): void {
    this.printOwn(process.stdout.isTTY ? clean(text) : text);
  }

  /** Prints text with colours; text of a server in it must be cleaned. */
  printOwn(text: string): void {
    const leave = this.live?.makeRoom();
    process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
    leave?.();
  }

  /** Rows of cleaned cells. */
  printTable(rows: readonly (readonly string[])[]): void {
    this.printOwn(table(rows, process.stdout.isTTY ? process.stdout.columns : undefined));
  }

  /** A list as JSON, or as rows of cleaned cells; `none` is noted if there are no rows. */
  printList(document: unknown, rows: readonly (readonly string[])[], none: string): void {
    if (this.json) this.printJson(document);
    else if (rows.length === 0) this.note(none);
    else this.printTable(rows);
  }

  printJson(document: unknown): void {
    const text = stringifyExact(document, 2);
    this.printOwn(process.stdout.isTTY ? escapeControls(text) : text);
  }

  note(text: string): void {
    const shown = process.stderr.isTTY ? clean(text) : text;
    if (this.live === undefined) process.stderr.write(`${shown}\n`);
    else this.live.above(shown);
  }
}
