import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { ModernWire } from '../modern-wire.ts';
import type { MessageStream } from '../stream.ts';

const LIMIT = 1000;

test(
  'X-3, D-4: a thousand subscriptions are accepted and one more is refused, without harm to others',
  { timeout: 60_000 },
  async () => {
    const server = owned(await startTasksV2Http());
    const { url, gateway } = await httpGateway({ ext: { url: server.url } }, { limits: { requestsPerSession: LIMIT } });
    const wire = new ModernWire(`${url}/ext`);
    const { taskId } = await wire.call('hold');
    const listening: MessageStream[] = [];
    while (listening.length < LIMIT) {
      const some = await Promise.all(Array.from({ length: 50 }, () => wire.listen({ taskIds: [taskId] })));
      expect(some.every(({ raw }) => raw.status === 200)).toBe(true);
      listening.push(...some);
    }
    const { status, error } = await wire.send('subscriptions/listen', { notifications: { taskIds: [taskId] } });
    expect(status).toBe(429);
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining('limits.requestsPerSession') });
    listening.pop()?.drop();
    await soon(async () => (await wire.send('tasks/get', { taskId })).status).toBe(200);

    server.state.release();
    for (const stream of listening) {
      await soon(() => stream.told('notifications/tasks').at(-1)?.['status']).toBe('completed');
    }
    for (const stream of listening) stream.drop();
    await soon(() => gateway.sessions.filter(({ busy }) => busy)).toEqual([]);
  },
);
