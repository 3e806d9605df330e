import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { showsColour } from '../lib/colour.ts';

export interface Stage {
  /** A new part of the story. */
  heading(text: string): void;
  /** The narrator. */
  say(text: string): void;
  sent(tool: string, args: Record<string, unknown>): void;
  received(text: string): void;
  /** Asks the person yes or no; yes if there is no terminal. */
  confirm(question: string): Promise<boolean>;
}

const WIDTH = 160;

/** Prints the demo, with colours on a terminal. */
export function openStage(
  input: ReadStream | NodeJS.ReadStream,
  output: WriteStream | NodeJS.WriteStream,
  stopped: AbortController,
): Stage {
  const coloured = showsColour(output);
  const paint = (code: number, text: string): string => (coloured ? `\u001B[${code}m${text}\u001B[0m` : text);
  const print = (text: string): void => void output.write(`${text}\n`);
  return {
    heading: (text) => print(`\n${paint(1, text)}`),
    say: (text) => print(text),
    sent: (tool, args) => print(`  ${paint(36, '->')} ${paint(36, tool)} ${JSON.stringify(args)}`),
    received: (text) =>
      print(
        text
          .split('\n')
          .map((line) => `  ${paint(32, '<-')} ${shorten(line)}`)
          .join('\n'),
      ),
    confirm: async (question) => {
      if (input.isTTY && output.isTTY) return ask(input, output, question, stopped);
      print(`  ${question} [Y/n] y (without a terminal, the demo answers yes)`);
      return true;
    },
  };
}

async function ask(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  question: string,
  stopped: AbortController,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  // The terminal is in raw mode during a question: Ctrl-C arrives as a key and Ctrl-D as the end of the input.
  lines.once('SIGINT', () => stopped.abort());
  const ended = new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
  });
  try {
    const answer = await Promise.race([lines.question(`  ${question} [Y/n] `, { signal: stopped.signal }), ended]);
    return !/^\s*n/i.test(answer);
  } finally {
    lines.close();
  }
}

function shorten(line: string): string {
  return line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line;
}
