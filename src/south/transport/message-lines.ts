import type { MessageCounter, MessageLimit, Pausable } from './message-size.ts';
import { OversizeMessage } from './oversize-message.ts';
import { TextPieces } from './text-pieces.ts';

/** Splits a byte stream into lines. A line that is too long is skipped. */
export class MessageLines {
  readonly #line = new TextPieces();
  #oversize: OversizeMessage | undefined;
  readonly #counter: MessageCounter;

  constructor(limit: MessageLimit, source: Pausable) {
    this.#counter = limit.counter(source, () => this.#skip());
  }

  /** The lines that this piece completes. */
  append(chunk: Buffer): (string | OversizeMessage)[] {
    const lines: (string | OversizeMessage)[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.#add(chunk.subarray(from, end));
      lines.push(this.#oversize ?? this.#line.take());
      this.clear();
      from = end + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
    return lines;
  }

  clear(): void {
    this.#line.clear();
    this.#oversize = undefined;
    this.#counter.reset();
  }

  #add(piece: Buffer): void {
    if (this.#oversize === undefined && this.#counter.add(piece.length)) {
      this.#line.add(piece);
      return;
    }
    if (this.#oversize === undefined) this.#skip(piece);
    else this.#oversize.append(piece);
  }

  /** Skips the current line. */
  #skip(...more: Buffer[]): void {
    this.#oversize = new OversizeMessage([...this.#line.pieces, ...more], this.#counter.mistake);
    this.#line.clear();
    this.#counter.reset();
  }
}
