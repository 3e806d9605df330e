import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, TASKS, type Round } from '../modern-wire.ts';
import { puppet, TOOL } from './puppet.ts';

const YES = accept({});

function answersTo({ inputRequests, requestState }: Round): { inputResponses: object; requestState: string } {
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, YES]));
  return { inputResponses, requestState };
}

test('D-4, H-3: cancelling a call that carries the question of another call does not lose the question', async () => {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config }, { direct: { taskAfterMs: 50 } });
  const wire = new ModernWire(`${url}/one`, { capabilities: TASKS });
  const tasks = [await wire.call(TOOL, { name: 'a' }), await wire.call(TOOL, { name: 'b' })];
  server.ask('b', 'of b');
  const look = async () => Promise.all(tasks.map(({ taskId }) => wire.request('tasks/get', { taskId })));
  await soon(async () => (await look()).map(({ status }) => status)).toContain('input_required');
  const carrier = (await look()).find(({ status }) => status === 'input_required');
  await wire.request('tasks/cancel', { taskId: carrier?.['taskId'] });
  const other = tasks.find(({ taskId }) => taskId !== carrier?.['taskId']);
  const asking = await wire.task(other?.['taskId'], 'input_required');
  const { key } = onlyQuestion(asking as Round);
  await wire.request('tasks/update', { taskId: other?.['taskId'], inputResponses: { [key]: YES } });
  expect(await server.answer('of b')).toMatchObject({ result: YES });
});

test('D-4, H-3: a question that moves to another call reaches the client that waits for that call', async () => {
  const server = await puppet();
  const { url, gateway } = await httpGateway({ one: server.config });
  const wire = new ModernWire(`${url}/one`, { capabilities: ROUNDS });
  const begin = async (name: string): Promise<Round> => {
    const round = wire.ask(TOOL, { name });
    await server.begun(name);
    server.ask(name, `first of ${name}`);
    return round;
  };
  const [a, b] = [await begin('a'), await begin('b')];
  const first = wire.call(TOOL, { name: 'a' }, answersTo(a));
  const second = wire.call(TOOL, { name: 'b' }, answersTo(b));
  await Promise.all(['a', 'b'].map(async (name) => server.answer(`first of ${name}`)));
  await soon(() => gateway.sessions.flatMap(({ tasks }) => tasks.list().map(({ status }) => status))).toEqual([
    'working',
    'working',
  ]);
  server.ask('b', 'of b', ['a']);
  expect(textOf(await first)).toBe('end of a');
  const next = (await second) as Round;
  expect(onlyQuestion(next).params).toMatchObject({ message: 'of b' });
  const last = wire.call(TOOL, { name: 'b' }, answersTo(next));
  await server.answer('of b');
  server.end('b');
  expect(textOf(await last)).toBe('end of b');
});

test('D-4, D-7: a question is put on a call whose client can be asked', async () => {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config });
  const wire = new ModernWire(`${url}/one`, { capabilities: ROUNDS });
  const deaf = wire.as({}).call(TOOL, { name: 'a' });
  await server.begun('a');
  const asked = wire.ask(TOOL, { name: 'b' });
  await server.begun('b');
  server.ask('b', 'of b');
  const round = await asked;
  expect(onlyQuestion(round).params).toMatchObject({ message: 'of b' });
  const rest = wire.call(TOOL, { name: 'b' }, answersTo(round));
  await server.answer('of b');
  server.end('b');
  server.end('a');
  expect(textOf(await rest)).toBe('end of b');
  expect(textOf(await deaf)).toBe('end of a');
});
