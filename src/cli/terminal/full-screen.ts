const ALTERNATE = '\u001B[?1049h\u001B[?25l';
const RESTORED = '\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const ERASE_LINE = '\u001B[K';
const ERASE_BELOW = '\u001B[J';

/** A full-screen display that is redrawn continuously; the previous screen is restored at the end. */
export class FullScreen {
  onKey: (key: string) => void = () => {};
  onResize: () => void = () => {};
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  #isOpen = false;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream) {
    this.#input = input;
    this.#output = output;
  }

  open(): void {
    this.#isOpen = true;
    this.#output.write(ALTERNATE);
    this.#output.on('resize', this.#resized);
    if (!this.#input.isTTY) return;
    this.#input.setRawMode(true);
    this.#input.on('data', this.#pressed).resume();
  }

  /** Lines beyond the last row are omitted; lines must not be wider than the screen, not counting colours. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const shown = lines.slice(0, this.#output.rows);
    this.#output.write(`${HOME}${shown.map((line) => `${line}${ERASE_LINE}`).join('\r\n')}${ERASE_BELOW}`);
  }

  close(): void {
    this.#isOpen = false;
    this.#output.off('resize', this.#resized);
    if (this.#input.isTTY) {
      this.#input.off('data', this.#pressed).pause();
      this.#input.setRawMode(false);
      // A read that has begun does not keep the program running.
      this.#input.unref();
    }
    this.#output.write(RESTORED);
  }

  readonly #resized = (): void => this.onResize();
  readonly #pressed = (data: Buffer): void => this.onKey(data.toString());
}
