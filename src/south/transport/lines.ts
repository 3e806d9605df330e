import type { Readable } from 'node:stream';

const MAX_LINE = 8192;

/** Calls back with each line of a stream. An endless line arrives in pieces, so that it need not be buffered whole. */
export function onLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  const cut = (line: string): string => {
    let left = line;
    for (; left.length > MAX_LINE; left = left.slice(MAX_LINE)) onLine(left.slice(0, MAX_LINE));
    return left;
  };
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) onLine(cut(line).replace(/\r$/, ''));
    rest = cut(last);
  });
  stream.once('close', () => {
    if (rest !== '') onLine(rest);
  });
}
