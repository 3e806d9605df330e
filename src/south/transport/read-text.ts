import type { HttpBody } from './http-pool.ts';
import type { MessageLimit } from './message-size.ts';

/** The body as text. */
export function readText(body: HttpBody, limit: MessageLimit): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const refuse = (): void => {
      reject(new Error(`the server's answer is ${counter.mistake}`));
      body.abort();
    };
    const counter = limit.counter(refuse);
    body.read({
      onData: (chunk) => {
        if (counter.add(chunk.length)) chunks.push(chunk);
        else refuse();
      },
      onClose: (error) => {
        counter.reset();
        if (error) reject(new Error('the connection broke in the middle of the answer', { cause: error }));
        else resolve(textOf(chunks));
      },
    });
  });
}

function textOf(chunks: Buffer[]): string {
  const [only] = chunks;
  return (only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)).toString('utf8');
}
