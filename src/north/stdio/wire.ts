import type { Readable, Writable } from 'node:stream';
import { parseExact } from '../../lib/exact-json.ts';
import { messageText } from '../kept-results.ts';
import { INVALID_REQUEST } from '../../lib/rpc-error.ts';
import { idOf, isMessage, type Message, type OutgoingMessage } from '../message.ts';

const NEWLINE = 0x0a;

type OnWritten = (error?: Error) => void;

/**
 * JSON-RPC over a pair of streams, one message per line. It answers a malformed request if its id can be read,
 * because the client waits for that. Replies in one turn of the event loop are written together.
 */
export class StdioWire {
  onmessage: (message: Message) => void = () => {};
  onerror: (error: Error) => void = () => {};
  /** Called when the client has closed its end: it may still wait for answers. */
  onend: () => void = () => {};
  onclose: () => void = () => {};
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #maxMessageBytes: number;
  /** The beginning of a message whose end has not arrived. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  /** Messages to write at the end of this turn, and their callbacks. */
  #unsent = '';
  #onWritten: OnWritten[] = [];
  #closed = false;

  constructor(input: Readable, output: Writable, maxMessageBytes: number) {
    this.#input = input;
    this.#output = output;
    this.#maxMessageBytes = maxMessageBytes;
  }

  start(): void {
    this.#input.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#input.on('error', (error) => this.onerror(error));
    this.#input.once('end', () => this.onend());
    this.#input.once('close', () => {
      if (!this.#input.readableEnded) this.close();
    });
    this.#output.on('error', (error) => {
      if (this.#closed) return;
      this.onerror(error);
      this.close();
    });
  }

  /** `onWritten` is called when the message has been written, or with the error. */
  send(message: OutgoingMessage, onWritten: OnWritten = this.#reportError): void {
    if (this.#closed) {
      onWritten(new Error('the connection is closed'));
      return;
    }
    const isFirst = this.#unsent === '';
    this.#unsent += `${messageText(message)}\n`;
    this.#onWritten.push(onWritten);
    // Clients lose the progress of a request that they read together with its reply.
    if ('method' in message) this.#flush();
    else if (isFirst) setImmediate(() => this.#flush());
  }

  /** The bytes that the client has not read. */
  get unreadBytes(): number {
    return this.#output.writableLength + this.#unsent.length;
  }

  readonly #reportError: OnWritten = (error) => {
    if (error !== undefined) this.onerror(error);
  };

  #flush(): void {
    if (this.#unsent === '') return;
    const text = this.#unsent;
    const told = this.#onWritten;
    this.#unsent = '';
    this.#onWritten = [];
    this.#output.write(text, (error) => {
      for (const tell of told) tell(error ?? undefined);
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#flush();
    this.#closed = true;
    this.#begun = [];
    // A client that has not closed its end would keep the program running.
    this.#input.pause();
    this.onclose();
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      if (this.#closed) return;
      const end = chunk.indexOf(NEWLINE, from);
      if (end === -1) break;
      const rest = chunk.subarray(from, end);
      const line = this.#begun.length === 0 ? rest : Buffer.concat([...this.#begun, rest]);
      this.#begun = [];
      this.#begunBytes = 0;
      from = end + 1;
      this.#line(line.toString('utf8'));
    }
    if (from === chunk.length) return;
    this.#begun.push(from === 0 ? chunk : chunk.subarray(from));
    this.#begunBytes += chunk.length - from;
    if (this.#begunBytes <= this.#maxMessageBytes) return;
    this.onerror(new Error(`the client sent a message larger than ${this.#maxMessageBytes} bytes`));
    this.close();
  }

  #line(line: string): void {
    let value: unknown;
    try {
      value = parseExact(line);
    } catch {
      // Programs print other lines, too.
      return;
    }
    try {
      if (isMessage(value)) this.onmessage(value);
      else if (Array.isArray(value))
        for (const each of value) this.#refuse(each, 'batches are not supported; send one message per line');
      else this.#refuse(value, 'not a JSON-RPC 2.0 message');
    } catch (error) {
      this.onerror(error as Error);
    }
  }

  #refuse(value: unknown, mistake: string): void {
    this.onerror(new Error(`the client sent an invalid message: ${mistake}`));
    const id = idOf(value);
    if (id === undefined) return;
    const error = { code: INVALID_REQUEST, message: `Invalid Request: ${mistake}` };
    this.send({ jsonrpc: '2.0', id, error });
  }
}
