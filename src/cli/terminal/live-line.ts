import { FRAME_MS, progressLine, type Activity } from './progress-line.ts';
import { styleFor } from './style.ts';

const ERASE = '\r\u001B[2K';

/** Shorter activities show no line, to avoid flicker. */
const FIRST_MS = 150;

/** The last line of the terminal, redrawn while something is in progress. */
export class LiveLine {
  readonly #output: NodeJS.WriteStream;
  #activity: Activity | undefined;
  #timer: NodeJS.Timeout | undefined;
  #drawn = false;
  /** How many callers of `makeRoom` are active. */
  #covered = 0;

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  show(label: string): void {
    this.#activity = { label, startedAt: Date.now() };
    this.#timer ??= setInterval(() => this.#draw(), FRAME_MS).unref();
  }

  update(change: Partial<Activity>): void {
    if (this.#activity !== undefined) Object.assign(this.#activity, change);
  }

  hide(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#activity = undefined;
    this.#erase();
  }

  /** Hides the line until the returned function is called. */
  makeRoom(): () => void {
    this.#covered += 1;
    this.#erase();
    let over = false;
    return () => {
      if (!over) this.#covered -= 1;
      over = true;
    };
  }

  /** Writes permanent text above the line. */
  above(text: string): void {
    this.#erase();
    this.#output.write(`${text}\n`);
    if (this.#timer !== undefined) this.#draw();
  }

  #draw(): void {
    const activity = this.#activity;
    if (activity === undefined || this.#covered > 0) return;
    const now = Date.now();
    if (now - activity.startedAt < FIRST_MS) return;
    this.#output.write(ERASE + progressLine(activity, now, this.#output.columns, styleFor(this.#output)));
    this.#drawn = true;
  }

  #erase(): void {
    if (this.#drawn) this.#output.write(ERASE);
    this.#drawn = false;
  }
}
