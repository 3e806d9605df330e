import { expect, test } from 'vitest';
import { NOT_UNDERSTOOD, SAMPLES } from '../../../tests/support/client-files.ts';
import { keptKeys } from '../commands/link.ts';
import { withoutLink } from '../commands/unlink.ts';
import { CLIENTS } from './clients.ts';
import { NotUnderstood, type ClientEntry } from './format.ts';
import { ENTRY_NAME } from './names.ts';

const START = {
  command: '/usr/bin/node',
  args: ['C:\\Program Files\\meanwhile\\cli.js', 'stdio', '--config', '/a "b"'],
};
const OTHER = { url: 'http://127.0.0.1:8080/mcp', headers: { Authorization: 'Bearer x' } };

/** Without white space and commas, which may move, and the line ends of the file. */
const essence = (text: string): string => text.replaceAll(/[\s,\uFEFF]/g, '');

test.each(SAMPLES)(
  'L-1: $client, $what: the entry can be added and removed, and everything else stays',
  ({ client, text }) => {
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
    // With the original, also the table goes.
    if (client !== 'codex' && text.trim() !== '')
      expect(essence(format.remove(after, ENTRY_NAME, text))).toBe(essence(text));
  },
);

test.each(SAMPLES)('L-1: $client, $what: an existing entry of that name is replaced', ({ client, text }) => {
  const { format, entryFor } = CLIENTS[client];
  const [first, second] = [entryFor(START) ?? {}, entryFor(OTHER) ?? {}];
  const once = format.set(text, ENTRY_NAME, first);
  const twice = format.set(once, ENTRY_NAME, second);
  expect(format.read(twice)[ENTRY_NAME]).toEqual(second);
  expect(format.set(twice, ENTRY_NAME, first)).toBe(once);
});

test.each(NOT_UNDERSTOOD)(
  'L-1: $client, $what: a file that is not understood is refused',
  ({ client, text, problem }) => {
    const { format } = CLIENTS[client];
    const change = (): unknown => format.set(text, ENTRY_NAME, { command: 'x' });
    expect(change).toThrow(NotUnderstood);
    expect(change).toThrow(problem);
  },
);

const CODEX_ENTRY = `[mcp_servers.meanwhile] # mine
command = 'old'
startup_timeout_sec = 20 # slow
env.A = "1"
args = [
  "old",
]

[mcp_servers.meanwhile.http_headers]
A = "b"

[mcp_servers.meanwhile.tools.search]
approval_mode = "approve"`;

test('L-1: replacing an entry in TOML keeps selected keys as they are written', () => {
  const { format } = CLIENTS.codex;
  const text = `model = "x"\n\n${CODEX_ENTRY}\n\n[other]\na = 1\n`;
  const kept = ['startup_timeout_sec', 'tools'];
  const after = format.set(text, ENTRY_NAME, { command: 'new', args: ['a'] }, kept);
  expect(after).toBe(`model = "x"

[mcp_servers.meanwhile] # mine
command = "new"
args = ["a"]
startup_timeout_sec = 20 # slow

[mcp_servers.meanwhile.tools.search]
approval_mode = "approve"

[other]
a = 1
`);
  expect(format.restore(`${after}b = 2\n`, ENTRY_NAME, text)).toBe(`${text}b = 2\n`);
  const onlyTools = '[mcp_servers.meanwhile.tools.search]\na = 1';
  expect(format.set(onlyTools, ENTRY_NAME, { command: 'new' }, kept)).toBe(
    `[mcp_servers.meanwhile]\ncommand = "new"\n\n${onlyTools}`,
  );
});

test('L-1: replacing an entry in JSON keeps selected keys, and restore brings back the original text', () => {
  const { format } = CLIENTS.cursor;
  const text = '{"mcpServers": {"meanwhile": {"command": "old", /* mine */ "trust": true, "timeout": 1e3}}}';
  const after = format.set(text, ENTRY_NAME, { command: 'new' }, ['trust', 'timeout']);
  expect(format.read(after)).toEqual({ meanwhile: { command: 'new', trust: true, timeout: 1000 } });
  expect(format.restore(after, ENTRY_NAME, text)).toBe(text);
});

test('L-1: values that TOML entries do not support are refused', () => {
  for (const value of [20, { a: 1 }, { a: {} }]) {
    const entry = { command: 'x', value } as unknown as ClientEntry;
    expect(() => CLIENTS.codex.format.set('', ENTRY_NAME, entry)).toThrow('cannot be written');
  }
});

test('L-1: a new entry is indented like the properties, not like a comment', () => {
  const text = '{\n  /*\n       * A comment\n   */\n\t"a": 1\n}\n';
  expect(CLIENTS.cursor.format.set(text, ENTRY_NAME, { command: 'x' })).toContain(
    '\n\t"mcpServers": {\n\t\t"meanwhile": {\n\t\t\t"command": "x"',
  );
});

test('L-1: unlink removes the entry that link has made, even if the file was changed since', () => {
  const { cursor, codex } = CLIENTS;
  const entry = cursor.entryFor(START) ?? {};
  expect(withoutLink(cursor, cursor.format.set('', ENTRY_NAME, entry), '')).toBe('{}\n');
  const text = '{\n  "a": 1\n}\n';
  const changed = cursor.format.set(text, ENTRY_NAME, entry).replace('1', '2');
  expect(withoutLink(cursor, changed, text)).toBe(text.replace('1', '2'));
  // Not if something else is in there by now.
  const other = cursor.format.set(changed, 'other', { command: 'y' });
  expect(cursor.format.read(withoutLink(cursor, other, text))).toEqual({ other: { command: 'y' } });
  const old = `${CODEX_ENTRY}\n`;
  const linked = codex.format.set(old, ENTRY_NAME, codex.entryFor(START) ?? {});
  expect(withoutLink(codex, `${linked}\n[more]\na = 1\n`, old)).toBe(`${old}\n[more]\na = 1\n`);
});

test('L-1: linking again keeps the keys that the client or the user has added to the entry', () => {
  const existing = { command: 'x', args: [], url: 'y', env: {}, timeout: 1, bearer_token_env_var: 'T' };
  const [command, url] = [START, { url: 'http://h/' }];
  expect(keptKeys(CLIENTS.codex, existing, command)).toEqual(['env', 'timeout']);
  expect(keptKeys(CLIENTS.codex, existing, url)).toEqual(['timeout', 'bearer_token_env_var']);
  expect(keptKeys(CLIENTS.codex, undefined, url)).toEqual([]);
});
