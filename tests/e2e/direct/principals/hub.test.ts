import { expect, test } from 'vitest';
import { postAndLeave } from '../../../support/raw-http.ts';
import { awaitActivity, flat, soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';
import { twoPrincipals, type Principal } from './two.ts';

async function openAt({ hub }: Principal): Promise<{ requestId: string }[]> {
  return (await hub.call('get_elicitations')).body['elicitations'] as { requestId: string }[];
}

test('D-7, X-2, S-1: a question that a client cannot be asked waits only at the hub of its principal', async () => {
  const { one, ada, ben } = await twoPrincipals();
  const wire = await LegacyWire.open(one, { capabilities: {}, headers: ada.headers });
  const result = wire.call('ask', { message: 'Who?' });
  await soon(async () => (await openAt(ada)).length).toBe(1);
  const [asked] = await openAt(ada);
  expect(await openAt(ben)).toEqual([]);
  const activity = await awaitActivity(ben.hub, { timeout_ms: 100 });
  expect(flat(activity).filter(({ type }) => type === 'elicitation_request')).toEqual([]);
  expect(activity.pending_client.elicitations).toEqual([]);
  const answer = { request_id: asked?.requestId, action: 'accept', content: { name: 'Ben' } };
  expect((await ben.hub.call('respond_to_elicitation', answer)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  await ada.hub.call('respond_to_elicitation', { ...answer, content: { name: 'Ada' } });
  expect(textOf(await result)).toBe('Hello Ada');
});

test.each(['legacy', 'modern'] as const)(
  'T-4, X-2, S-1: a principal does not take over a call that another principal left (%s)',
  async (era) => {
    const { server, one, ada, ben } = await twoPrincipals();
    const args = { ms: 600_000, text: 'private' };
    const open = async ({ headers }: Principal): Promise<LegacyWire | ModernWire> =>
      era === 'legacy' ? LegacyWire.open(one, { headers }) : new ModernWire(one, { headers, capabilities: {} });
    const leave = async (wire: LegacyWire | ModernWire, times: number): Promise<void> => {
      const { message, headers } = wire.raw('tools/call', { name: 'slow', arguments: args });
      const sent = postAndLeave(one, message, headers);
      await soon(() => server.state.calls.length).toBe(times);
      sent.destroy();
    };
    await leave(await open(ada), 1);
    await soon(() => tasksOf(ada.hub)).toMatchObject([{ tool: 'slow' }]);
    const [task] = await tasksOf(ada.hub);
    const task_id = task?.['task_id'];
    expect(await tasksOf(ben.hub)).toEqual([]);
    for (const tool of ['get_task', 'get_task_result', 'cancel_task']) {
      expect((await ben.hub.call(tool, { task_id })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
    }
    // The same call of another is another call.
    await leave(await open(ben), 2);
    await soon(() => tasksOf(ben.hub)).toMatchObject([{ tool: 'slow', status: 'working' }]);
    expect(await tasksOf(ada.hub)).toMatchObject([{ task_id, status: 'working' }]);
    expect(server.state.cancelled).toEqual([]);
  },
);
