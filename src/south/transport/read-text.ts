import type { HttpBody } from './http-pool.ts';
import type { MessageLimit } from './message-size.ts';
import { TextPieces } from './text-pieces.ts';

/** The body as text. */
export function readText(body: HttpBody, limit: MessageLimit): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const text = new TextPieces();
    const refuse = (): void => {
      reject(new Error(`the server's answer is ${counter.mistake}`));
      body.abort();
    };
    const counter = limit.counter(body, refuse);
    body.read({
      onData: (chunk) => {
        if (counter.add(chunk.length)) text.add(chunk);
        else refuse();
      },
      onClose: (error) => {
        counter.reset();
        if (error) reject(new Error('the connection broke in the middle of the answer', { cause: error }));
        else resolve(text.take());
      },
    });
  });
}
