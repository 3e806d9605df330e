import { StringDecoder } from 'node:string_decoder';
import type { HttpBody } from './http-pool.ts';
import type { MessageLimit } from './message-size.ts';

/** The body as text. */
export function readText(body: HttpBody, limit: MessageLimit): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    // Pieces are decoded as they arrive: decoding a large text at once would block.
    const pieces: string[] = [];
    let last: Buffer | undefined;
    let decoder: StringDecoder | undefined;
    const take = (chunk: Buffer): void => {
      if (last !== undefined) {
        decoder ??= new StringDecoder('utf8');
        pieces.push(decoder.write(last));
      }
      last = chunk;
    };
    const refuse = (): void => {
      reject(new Error(`the server's answer is ${counter.mistake}`));
      body.abort();
    };
    const counter = limit.counter(refuse);
    body.read({
      onData: (chunk) => {
        if (counter.add(chunk.length)) take(chunk);
        else refuse();
      },
      onClose: (error) => {
        counter.reset();
        if (error) reject(new Error('the connection broke in the middle of the answer', { cause: error }));
        else if (decoder === undefined) resolve(last?.toString('utf8') ?? '');
        else resolve([...pieces, decoder.end(last)].join(''));
      },
    });
  });
}
