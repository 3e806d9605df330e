import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { ModernWire } from '../modern-wire.ts';
import { puppet, TOOL } from '../regressions/puppet.ts';

test('D-4, T-2: an ended task that tasks/get has shown makes room for new ones', async () => {
  const server = await puppet();
  const settings = { tasks: { perSession: 3 }, direct: { taskAfterMs: 10 } };
  const { url } = await httpGateway({ one: server.config }, settings);
  const wire = new ModernWire(`${url}/one`);
  const begin = async (name: string): Promise<unknown> => {
    const { taskId } = await wire.call(TOOL, { name });
    await server.begun(name);
    return taskId;
  };
  const read = await begin('read');
  server.end('read');
  expect(await wire.task(read, 'completed')).toMatchObject({ result: { content: [{ text: 'end of read' }] } });
  const unread = await begin('unread');
  server.end('unread');
  for (const name of ['a', 'b']) await begin(name);
  expect(await wire.error('tasks/get', { taskId: read })).toMatchObject({ code: -32_602 });
  await wire.task(unread, 'completed');
});
