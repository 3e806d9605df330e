import { expect, test } from 'vitest';
import { hubOverHttp } from '../../../support/hub.ts';
import { postAndLeave } from '../../../support/raw-http.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS, TASKS } from '../modern-wire.ts';
import { behind, type Behind } from './behind.ts';

const ENDLESS = { ms: 600_000 };

/** Brings a legacy client into a state and breaks its connection there. */
const LEGACY: Record<string, (wire: LegacyWire, around: Behind) => Promise<void>> = {
  'before the result': async (wire) => (await wire.callStream('slow', ENDLESS)).drop(),
  'before the server has its call': async (wire, { one }) => {
    const { message, headers } = wire.raw('tools/call', { name: 'slow', arguments: ENDLESS });
    postAndLeave(one, message, headers).destroy();
  },
  'during a question': async (wire) => {
    const stream = await wire.callStream('ask');
    await stream.heard('elicitation/create');
    stream.drop();
  },
  'while it waits with tasks/result': async (wire) => {
    const { taskId } = await wire.begin('slow', ENDLESS);
    (await wire.stream('tasks/result', { taskId })).drop();
  },
  'during a question of a task': async (wire) => {
    const { taskId } = await wire.begin('ask');
    const stream = await wire.stream('tasks/result', { taskId });
    await stream.heard('elicitation/create');
    stream.drop();
  },
  'on its standing stream': async (wire) => (await wire.listen()).drop(),
  'during a question on its standing stream': async (wire) => {
    const standing = await wire.listen();
    const stream = await wire.callStream('ask');
    await stream.heard('elicitation/create');
    stream.drop();
    await standing.heard('elicitation/create');
    standing.drop();
  },
};

test.each(Object.entries(LEGACY))(
  'S-4, D-2: a legacy client that disconnects %s and later ends its session leaves nothing behind',
  async (_when, go) => {
    const around = await behind();
    const { running, one, plain } = around;
    const hub = await hubOverHttp(running.url, 'modern');
    await hub.call('list_tools', { server: 'one' });
    const before = plain.state.sessions.size;
    const wire = await LegacyWire.open(one);
    await go(wire, around);
    await soon(() => running.listener.counts.streams).toBeLessThanOrEqual(2);
    expect(await wire.request('ping')).toEqual({});
    expect(await wire.end()).toBe(200);
    await soon(() => running.listener.counts).toEqual({ sessions: 0, streams: 0, requests: 0 });
    expect(running.gateway.sessions.filter(({ view }) => view.kind === 'direct')).toEqual([]);
    expect(await tasksOf(hub)).toEqual([]);
    expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
    await soon(() => plain.state.sessions.size).toBe(before);
    expect(plain.state.cancelled.length).toBe(plain.state.calls.length);
  },
);

/** The same for a modern one. */
const MODERN: Record<string, (around: Behind) => Promise<void>> = {
  'before the result': async ({ one, plain }) => {
    const wire = new ModernWire(one, { capabilities: ROUNDS });
    const { message, headers } = wire.raw('tools/call', { name: 'slow', arguments: ENDLESS });
    const sent = postAndLeave(one, message, headers);
    await soon(() => plain.state.calls.length).toBe(1);
    sent.destroy();
  },
  'between two rounds': async ({ one }) => {
    await new ModernWire(one, { capabilities: ROUNDS }).ask('ask');
  },
  'while a task works': async ({ one }) => {
    const { taskId } = await new ModernWire(one, { capabilities: TASKS }).call('slow', ENDLESS);
    expect(taskId).toBeTypeOf('string');
  },
  'while subscribed to a task with a question': async ({ ext }) => {
    const wire = new ModernWire(ext, { capabilities: TASKS });
    const { taskId } = await wire.call('ask');
    const stream = await wire.listen({ taskIds: [taskId] });
    await soon(() => stream.told('notifications/tasks').at(-1)?.['status']).toBe('input_required');
    stream.drop();
  },
};

test.each(Object.entries(MODERN))(
  'S-4, D-4: the hub shows and cancels a call whose modern client disconnected %s, and nothing remains',
  async (_when, go) => {
    const around = await behind();
    const { running, plain, keeper } = around;
    const hub = await hubOverHttp(running.url, 'modern');
    await go(around);
    const working = async () => tasksOf(hub, {});
    await soon(async () => (await working()).length).toBe(1);
    const [task] = await working();
    await hub.call('cancel_task', { task_id: task?.['task_id'] });
    await soon(() => [...plain.state.cancelled, ...keeper.state.cancelled].length).toBe(1);
    expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
    await soon(() => running.gateway.sessions.filter(({ busy }) => busy)).toEqual([]);
    const open = running.gateway.sessions.flatMap(({ interactions, calls }) => [interactions.size, calls.size]);
    expect(open.every((count) => count === 0)).toBe(true);
  },
);
