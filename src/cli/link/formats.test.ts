import { expect, test } from 'vitest';
import { NOT_UNDERSTOOD, SAMPLES } from '../../../tests/support/client-files.ts';
import { CLIENTS } from './clients.ts';
import { NotUnderstood } from './format.ts';
import { ENTRY_NAME } from './names.ts';

const START = {
  command: '/usr/bin/node',
  args: ['C:\\Program Files\\meanwhile\\cli.js', 'stdio', '--config', '/a "b"'],
};
const OTHER = { url: 'http://127.0.0.1:8080/mcp', headers: { Authorization: 'Bearer x' } };

/** Without white space and commas, which may move, and the line ends of the file. */
const essence = (text: string): string => text.replaceAll(/[\s,\uFEFF]/g, '');

test.each(SAMPLES)('L-1: $client, $what: the entry comes in and goes out, and all else stays', ({ client, text }) => {
  const { format, entryFor } = CLIENTS[client];
  const entry = entryFor(START) ?? {};
  const after = format.set(text, ENTRY_NAME, entry);
  expect(format.read(after)[ENTRY_NAME]).toEqual(entry);
  expect({ ...format.read(after), [ENTRY_NAME]: 0 }).toEqual({ ...format.read(text), [ENTRY_NAME]: 0 });
  // Every line of the file is still there, in order; at most a comma was added to one.
  let rest = essence(after);
  for (const line of text.split('\n').map(essence)) {
    // The brackets of an empty object or of one in a single line may be apart now.
    const parts = line.length > 0 && !rest.includes(line) ? line.split('') : [line];
    for (const part of parts) {
      expect(rest).toContain(part);
      rest = rest.slice(rest.indexOf(part) + part.length);
    }
  }
  expect(after.startsWith('\uFEFF')).toBe(text.startsWith('\uFEFF'));
  const lineEnds = new Set(after.match(/\r?\n/g));
  expect(lineEnds.size).toBeLessThanOrEqual(1);
  if (text.includes('\r\n')) expect([...lineEnds]).toEqual(['\r\n']);

  const removed = format.remove(after, ENTRY_NAME);
  expect(format.read(removed)).toEqual(format.read(text));
  // If there was no table of servers, an empty one is left.
  const hadServers = Object.keys(format.read(text)).length > 0;
  if (hadServers && client !== 'codex') expect(removed).toBe(text);
  if (client === 'codex' && text.endsWith('\n')) expect(removed.trimEnd()).toBe(text.trimEnd());
});

test.each(SAMPLES)('L-1: $client, $what: an entry of that name is replaced', ({ client, text }) => {
  const { format, entryFor } = CLIENTS[client];
  const [first, second] = [entryFor(START) ?? {}, entryFor(OTHER) ?? {}];
  const once = format.set(text, ENTRY_NAME, first);
  const twice = format.set(once, ENTRY_NAME, second);
  expect(format.read(twice)[ENTRY_NAME]).toEqual(second);
  expect(format.set(twice, ENTRY_NAME, first)).toBe(once);
});

test.each(NOT_UNDERSTOOD)('L-1: $client, $what: such a file is refused', ({ client, text, problem }) => {
  const { format } = CLIENTS[client];
  const change = (): unknown => format.set(text, ENTRY_NAME, { command: 'x' });
  expect(change).toThrow(NotUnderstood);
  expect(change).toThrow(problem);
});
