/**
 * What a server as a program tells a test, which cannot look into it: one JSON object a line in the file that TEST_RECORD
 * names, `{"received": message}` or `{"cancelled": label}`.
 */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

type Note = { received: unknown } | { cancelled: string };

const file = process.env['TEST_RECORD'];

function note(what: Note): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(what)}\n`);
}

/** Labels of cancelled calls, written down as they come. */
export class RecordedLabels extends Array<string> {
  override push(...labels: string[]): number {
    for (const cancelled of labels) note({ cancelled });
    return super.push(...labels);
  }
}

/** Writes down all that is said to this program, beside the transport that reads it. */
export function recordStdin(): void {
  if (file === undefined) return;
  createInterface({ input: process.stdin }).on('line', (line) => note({ received: JSON.parse(line) }));
}
