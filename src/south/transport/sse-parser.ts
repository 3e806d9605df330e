import { StringDecoder } from 'node:string_decoder';
import type { HttpBody } from './http-pool.ts';
import { InOrder, type StreamReader } from './in-order.ts';
import type { MessageCounter, MessageLimit, Pausable } from './message-size.ts';
import { OversizeMessage } from './oversize-message.ts';

export interface SseEvent {
  id: string | undefined;
  /** The type of the event. */
  name: string;
  data: string;
}

export interface SseHandlers {
  /** One event; events without content are included if they have an id. */
  onEvent: (event: SseEvent) => void;
  /** An event was skipped because it is too large. */
  onOversize: (message: OversizeMessage) => void;
  /** An event that is too large does not end: stop feeding. */
  onEndless: () => void;
  onRetry: (ms: number) => void;
}

export interface SseStreamHandlers extends Omit<SseHandlers, 'onEvent' | 'onEndless'> {
  /** One event. If it takes several turns of the event loop, returns a promise; the following events wait for it. */
  onEvent: (event: SseEvent) => Promise<void> | undefined;
  /** Called first with each piece that arrives. */
  onData?: (chunk: Buffer) => void;
  /** The stream is closed; `endless` is the reason if an event did not end. */
  onClose: (endless: string | undefined) => void;
}

/** Reads the events of a response until it is closed. */
export function readEvents(
  body: HttpBody,
  reader: StreamReader,
  { onEvent, onData, onOversize, onRetry, onClose }: SseStreamHandlers,
): void {
  let endless: string | undefined;
  const { limit } = reader;
  const inOrder = new InOrder(body, reader);
  const onEndless = (): void => {
    endless = `an event is ${limit.mistake} and does not end`;
    body.abort();
  };
  const parser = new SseParser(limit, body, {
    onEvent: (event) => inOrder.add(event.data.length, () => onEvent(event)),
    onOversize: (message) => inOrder.add(0, () => onOversize(message)),
    onRetry,
    onEndless,
  });
  const decoder = new StringDecoder('utf8');
  body.read({
    onData: (chunk) => {
      onData?.(chunk);
      parser.feed(decoder.write(chunk));
    },
    onClose: () => {
      parser.close();
      inOrder.add(0, () => onClose(endless));
    },
  });
}

const DEFAULT_NAME = 'message';
/** The memory of a line besides its text: a stream of empty lines takes memory, too. */
const LINE_OVERHEAD = 8;
/** How many times the maximum message size is skipped while waiting for the end of an event. */
const SKIPPED_AT_MOST = 6;

interface Skipping {
  message: OversizeMessage;
  size: number;
  /** The line ends that the last piece ended with. */
  end: string;
}

/** Parses server-sent events from pieces of text. An event that is too large is skipped. */
export class SseParser {
  /** Pieces of a line that is not complete. */
  #line: string[] = [];
  #data: string[] = [];
  #id: string | undefined;
  #name = DEFAULT_NAME;
  #skipping: Skipping | undefined;
  #afterCr = false;
  #first = true;
  readonly #limit: MessageLimit;
  readonly #counter: MessageCounter;
  readonly #handlers: SseHandlers;

  constructor(limit: MessageLimit, source: Pausable, handlers: SseHandlers) {
    this.#limit = limit;
    this.#counter = limit.counter(source, () => this.#startSkipping());
    this.#handlers = handlers;
  }

  feed(given: string): void {
    let text = given;
    if (this.#first) text = text.replace(/^\uFEFF/, '');
    this.#first = false;
    // CR LF may be split between two pieces.
    if (this.#afterCr && text.startsWith('\n')) text = text.slice(1);
    this.#afterCr = text.endsWith('\r');
    while (text !== '') text = this.#skipping === undefined ? this.#read(text) : this.#skip(text, this.#skipping);
  }

  /** The stream has ended. */
  close(): void {
    this.#reset();
  }

  /** Reads lines until the text ends or the limit is reached; returns the rest. */
  #read(text: string): string {
    const hasCr = text.includes('\r');
    let from = 0;
    while (from < text.length) {
      const end = hasCr ? endOfLine(text, from) : text.indexOf('\n', from);
      const piece = text.slice(from, end < 0 ? undefined : end);
      if (!this.#counter.add(piece.length + LINE_OVERHEAD)) {
        this.#startSkipping(piece);
        return text.slice(from + piece.length);
      }
      if (piece !== '') this.#line.push(piece);
      if (end < 0) return '';
      this.#endLine();
      from = end + (text.startsWith('\r\n', end) ? 2 : 1);
    }
    return '';
  }

  #startSkipping(piece = ''): void {
    const line = [...this.#line, piece].join('');
    const message = new OversizeMessage([...this.#data, fieldOf(line).value], this.#counter.mistake);
    const end = line === '' ? '\n' : '';
    this.#reset();
    this.#skipping = { message, size: 0, end };
  }

  /** Looks for the empty line that ends the event; returns the text after it. */
  #skip(text: string, skipping: Skipping): string {
    const { message } = skipping;
    const before = skipping.end;
    const found = EMPTY_LINE.exec(before + text);
    if (found === null) {
      message.append(text);
      skipping.end = /[\r\n]*$/.exec(before + text.slice(-4))?.[0].slice(-2) ?? '';
      skipping.size += text.length;
      if (skipping.size > SKIPPED_AT_MOST * this.#limit.bytes) this.#handlers.onEndless();
      return '';
    }
    message.append(text.slice(0, Math.max(0, found.index - before.length)));
    this.#reset();
    this.#handlers.onOversize(message);
    return text.slice(found.index + found[0].length - before.length);
  }

  #endLine(): void {
    const line = this.#line.length === 1 ? (this.#line[0] ?? '') : this.#line.join('');
    this.#line = [];
    if (line !== '') {
      this.#field(line);
      return;
    }
    const [id, name, data] = [this.#id, this.#name, this.#data];
    this.#reset();
    if (id !== undefined || data.length > 0) this.#handlers.onEvent({ id, name, data: data.join('\n') });
  }

  #field(line: string): void {
    const { name, value } = fieldOf(line);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#name = value || DEFAULT_NAME;
    else if (name === 'id' && !CONTROL_CHARACTER.test(value)) this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.#handlers.onRetry(Number(value));
  }

  #reset(): void {
    this.#line = [];
    this.#data = [];
    this.#id = undefined;
    this.#name = DEFAULT_NAME;
    this.#skipping = undefined;
    this.#counter.reset();
  }
}

/** Not allowed in headers, so a stream cannot be resumed after an id that contains one. */
const CONTROL_CHARACTER = /\p{Cc}/u;

const EMPTY_LINE = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/;

function endOfLine(text: string, from: number): number {
  const [lf, cr] = [text.indexOf('\n', from), text.indexOf('\r', from)];
  return lf < 0 || cr < 0 ? Math.max(lf, cr) : Math.min(lf, cr);
}

function fieldOf(line: string): { name: string; value: string } {
  const colon = line.indexOf(':');
  if (colon < 0) return { name: line, value: '' };
  const from = line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
  return { name: line.slice(0, colon), value: line.slice(from) };
}
