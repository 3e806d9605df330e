import { expect, test } from 'vitest';
import { toolProblems } from './examine.ts';
import { fixFor } from './trouble.ts';

const tool = (name: string, more = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

test('C-3: what is wrong with tools is told, each with a fix', () => {
  expect(toolProblems([tool('a'), tool('b')], {})).toEqual([]);
  const found = toolProblems(
    [null, tool('a'), tool('a'), tool('b', { inputSchema: {} }), tool('c', { execution: { taskSupport: 'required' } })],
    {},
  );
  expect(found.map(({ problem }) => problem)).toEqual([
    '1 of its tools have no name',
    "there are several tools named 'a'",
    "the input schema of 'b' is not of the type object",
    "'c' only runs as a task, but the server offers no tasks",
  ]);
  for (const { fix } of found) expect(fix).toBeTruthy();
  const tasks = { generation: '2025-11-25', list: true, cancel: true };
  expect(toolProblems([tool('c', { execution: { taskSupport: 'required' } })], { tasks })).toEqual([]);
});

test.each([
  ['connect ECONNREFUSED 127.0.0.1:1', 'nothing listens there'],
  ['getaddrinfo ENOTFOUND x.example', 'no such host'],
  ['unable to verify the first certificate', 'not trusted'],
  ['write EPROTO: wrong version number', 'http:// instead of https://'],
  ['HTTP 403: Forbidden', '--header'],
  ['HTTP 404: Not Found', '/mcp'],
  ["command 'x' or its cwd was not found", '/mcp'],
])('C-3: for %j there is a fix', (reason, fix) => {
  expect(fixFor(reason, { url: 'https://x.example' })).toContain(fix);
});

test('C-3: the fix depends on what the server is, and there is none for what nobody knows', () => {
  expect(fixFor("command 'x' or its cwd was not found", { command: 'x' })).toContain('PATH');
  expect(fixFor('the moon is full', { command: 'x' })).toBeUndefined();
});
