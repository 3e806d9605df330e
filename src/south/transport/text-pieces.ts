import { StringDecoder } from 'node:string_decoder';

/** Text that arrives in pieces. They are decoded as they arrive: decoding a large text at once would block. */
export class TextPieces {
  #decoded: string[] = [];
  /** Decoded when the next piece arrives; usually it is the only one. */
  #last: Buffer | undefined;
  #decoder: StringDecoder | undefined;

  add(piece: Buffer): void {
    if (this.#last !== undefined) {
      this.#decoder ??= new StringDecoder('utf8');
      this.#decoded.push(this.#decoder.write(this.#last));
    }
    this.#last = piece;
  }

  /** Everything that has arrived. */
  get pieces(): readonly (string | Buffer)[] {
    return this.#last === undefined ? [] : [...this.#decoded, this.#last];
  }

  /** The whole text; the next piece begins another one. */
  take(): string {
    const [decoded, decoder, last] = [this.#decoded, this.#decoder, this.#last];
    this.clear();
    return decoder === undefined ? (last?.toString('utf8') ?? '') : [...decoded, decoder.end(last)].join('');
  }

  clear(): void {
    if (this.#decoder !== undefined) this.#decoded = [];
    this.#decoder = undefined;
    this.#last = undefined;
  }
}
