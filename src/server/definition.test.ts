import { expect, test } from 'vitest';
import { createTaskServer } from './task-server.ts';
import { createTaskController } from './task-controller.ts';
import { define } from './definition.ts';
import type { TaskServerOptions } from './types.ts';

const tool = { run: () => 'done' };
const GOOD: TaskServerOptions = { name: 'shop', version: '1.0.0', tools: { order: tool } };

test.each<[what: string, wrong: Record<string, unknown>, says: string | RegExp]>([
  ['no name', { name: undefined }, /^createTaskServer: 'name' is missing; for example 'shop'$/],
  ['a misspelt option', { instruction: 'x' }, "unknown key 'instruction'; did you mean 'instructions'?"],
  [
    'a misspelt field of a tool',
    { tools: { order: { ...tool, inputShema: {} } } },
    "tools['order']: unknown key 'inputShema'; did you mean 'inputSchema'?",
  ],
  [
    'an unknown field of a tool',
    { tools: { order: { ...tool, colour: 'red' } } },
    "unknown key 'colour'; known: run, title",
  ],
  ['a display name as name', { name: 'My Shop' }, "goes into 'title'"],
  ['no version', { version: undefined }, "'version' is missing"],
  ['no tools', { tools: {} }, 'define at least one tool'],
  ['a list of tools', { tools: [tool] }, 'define at least one tool'],
  ['a name with a space', { tools: { 'my order': tool } }, "tools['my order']: a name has 1 to 128"],
  ['no handler', { tools: { order: {} } }, "tools['order'].run is not a function"],
  ['no tool', { tools: { order: 'run' } }, "tools['order'] is not an object"],
  [
    'a schema that is not an object',
    { tools: { order: { ...tool, inputSchema: 'text' } } },
    'not the JSON Schema of an object',
  ],
  [
    'an input schema of the type string',
    { tools: { order: { ...tool, inputSchema: { type: 'string' } } } },
    'for example {',
  ],
  [
    'an invalid schema',
    { tools: { order: { ...tool, inputSchema: { type: 'object', properties: { a: { type: 'nonsense' } } } } } },
    "tools['order'].inputSchema is not a valid JSON Schema",
  ],
  ['a handler for a built-in method', { requests: { 'tools/list': () => ({}) } }, 'already answers this method'],
  ['a request without a handler', { requests: { 'prompts/get': 'text' } }, "requests['prompts/get'] is not a function"],
  ['an invalid setting', { settings: { tasks: { ttlMs: -1 } } }, 'tasks.ttlMs: expected at least 1, got -1'],
  ['an unknown setting', { settings: { task: {} } }, "task: unknown key; did you mean 'tasks'?"],
  ['an invalid task controller', { tasks: {} }, 'createTaskController'],
])('D-1: %s is refused at once, and the error says how to correct it', (_what, wrong, says) => {
  expect(() => createTaskServer({ ...GOOD, ...wrong })).toThrow(says);
});

test('D-1: without options the error names the missing option', () => {
  const create = createTaskServer as (options?: unknown) => unknown;
  expect(() => create()).toThrow("the options are missing; give at least 'name', 'version' and 'tools'");
  expect(() => create({})).toThrow("'name' is missing");
});

test('D-1: a task controller has its own store, and a second store is refused', async () => {
  const tasks = await createTaskController();
  expect(() => createTaskServer({ ...GOOD, tasks, store: 'shop.db' })).toThrow("leave 'store' out");
  await tasks.close();
});

test('D-1: the capabilities follow from the definition', () => {
  const requests = { 'resources/list': () => ({}), 'resources/read': () => ({}), 'completion/complete': () => ({}) };
  expect(define(GOOD).info.capabilities).toEqual({ tools: {} });
  expect(define({ ...GOOD, requests }).info.capabilities).toEqual({ tools: {}, resources: {}, completions: {} });
});

test('D-1: two tools whose schemas have the same ID are validated by their own schema', () => {
  const schema = (field: string) => ({ $id: 'args', type: 'object', required: [field] });
  const { tools } = define({
    ...GOOD,
    tools: { one: { ...tool, inputSchema: schema('a') }, two: { ...tool, inputSchema: schema('b') } },
  });
  expect(tools.get('one')?.mistake({ a: 1 })).toBeUndefined();
  expect(tools.get('two')?.mistake({ b: 1 })).toBeUndefined();
  expect(tools.get('two')?.mistake({ a: 1 })).toContain("must have required property 'b'");
});
