import { escapeControls } from '../../lib/escape-controls.ts';
import type { Flags } from '../flags.ts';
import { canDraw } from './capabilities.ts';
import { clean } from './clean.ts';
import { table } from './layout.ts';
import { LiveLine } from './live-line.ts';
import { PLAIN, styleFor, type Style } from './style.ts';

/** What the person, or the script, sees: results on standard output, all words about them on standard error. */
export class Screen {
  readonly json: boolean;
  /** A person can be asked: input and messages are on a terminal that prompts can be drawn on. */
  readonly attended: boolean;
  /** For what is printed. */
  readonly style: Style;
  /** For what is noted. */
  readonly noteStyle: Style;
  readonly live: LiveLine | undefined;

  constructor({ json = false, args }: Flags) {
    this.json = json;
    // Where the arguments come from, no answers can come from.
    this.attended = process.stdin.isTTY && process.stderr.isTTY && canDraw() && args !== '-';
    this.style = json ? PLAIN : styleFor(process.stdout);
    this.noteStyle = styleFor(process.stderr);
    this.live = this.attended ? new LiveLine(process.stderr) : undefined;
  }

  /** A text of a server, or one made of such. */
  print(text: string): void {
    this.printOwn(process.stdout.isTTY ? clean(text) : text);
  }

  /** Our own text, which may have colours; what is a server's in it has been cleaned. */
  printOwn(text: string): void {
    const leave = this.live?.makeRoom();
    process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
    leave?.();
  }

  /** Rows of cleaned cells. */
  printTable(rows: readonly (readonly string[])[]): void {
    this.printOwn(table(rows, process.stdout.isTTY ? process.stdout.columns : undefined));
  }

  printJson(document: unknown): void {
    const text = JSON.stringify(document, null, 2);
    this.printOwn(process.stdout.isTTY ? escapeControls(text) : text);
  }

  note(text: string): void {
    const shown = process.stderr.isTTY ? clean(text) : text;
    if (this.live === undefined) process.stderr.write(`${shown}\n`);
    else this.live.above(shown);
  }
}
