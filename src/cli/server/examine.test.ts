import { expect, test } from 'vitest';
import { toolProblems } from './examine.ts';

const tool = (name: string, more = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

test('C-3: problems of tools are reported, each with a fix', () => {
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
