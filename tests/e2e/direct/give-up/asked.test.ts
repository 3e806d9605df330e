import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { postAndLeave } from '../../../support/raw-http.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, TASKS } from '../modern-wire.ts';
import { startAskThenWork } from './ask-then-work.ts';

async function behind() {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const open = async (): Promise<unknown> => (await hub.call('get_elicitations')).body['elicitations'];
  return { server, hub, open, direct: `${url}/one` };
}

test('T-4, D-7: when a client leaves during a question, the hub shows the question', async () => {
  const { server, hub, open, direct } = await behind();
  const wire = await LegacyWire.open(direct);
  const stream = await wire.callStream('ask', { message: 'Who?' });
  await stream.heard('elicitation/create');
  expect(await open()).toEqual([]);
  stream.drop();
  await soon(open).toMatchObject([{ server: 'one', message: 'Who?' }]);
  const [{ requestId }] = (await open()) as [{ requestId: string }];
  await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Ada' } });
  const [task] = await tasksOf(hub);
  expect((await hub.call('get_task_result', { task_id: task?.['task_id'] })).text).toBe('Hello Ada');
  expect(server.state.calls).toHaveLength(1);
});

test('T-4, D-2: a client that leaves during a question and repeats the call is asked again', async () => {
  const { server, direct } = await behind();
  const wire = await LegacyWire.open(direct);
  const stream = await wire.callStream('ask', { message: 'Who?' });
  await stream.heard('elicitation/create');
  stream.drop();
  const again = await wire.callStream('ask', { message: 'Who?' });
  await again.answer(await again.heard('elicitation/create'), accept({ name: 'Ada' }));
  expect(textOf(await again.result())).toBe('Hello Ada');
  expect(server.state.calls).toHaveLength(1);
});

test('T-4, D-2: a client that cancels during a question is asked again on its standing stream', async () => {
  const { server, open, direct } = await behind();
  const wire = await LegacyWire.open(direct);
  const standing = await wire.listen();
  const stream = await wire.callStream('ask', { message: 'Who?' });
  await stream.heard('elicitation/create');
  await wire.notify('notifications/cancelled', { requestId: stream.id, reason: 'timed out' });
  const asked = await standing.heard('elicitation/create');
  expect(await open()).toEqual([]);
  await standing.answer(asked, accept({ name: 'Ada' }));
  expect(textOf(await wire.call('ask', { message: 'Who?' }))).toBe('Hello Ada');
  expect(server.state.calls).toHaveLength(1);
});

test('T-4, D-7: when the standing stream of the client closes too, the hub shows the question', async () => {
  const { open, direct } = await behind();
  const wire = await LegacyWire.open(direct);
  const standing = await wire.listen();
  const stream = await wire.callStream('ask', { message: 'Who?' });
  await stream.heard('elicitation/create');
  stream.drop();
  await standing.heard('elicitation/create');
  standing.drop();
  await soon(open).toMatchObject([{ server: 'one', message: 'Who?' }]);
});

test('T-4, D-4: a modern client that leaves between two rounds can continue, and the hub shows its question meanwhile', async () => {
  const { server, hub, open, direct } = await behind();
  const wire = new ModernWire(direct, { capabilities: ROUNDS });
  const round = await wire.ask('ask_twice');
  const { key } = onlyQuestion(round);
  await soon(() => tasksOf(hub)).toMatchObject([{ tool: 'ask_twice' }]);
  await soon(open).toMatchObject([{ message: 'What is your name?' }]);
  const { requestState } = round;
  const inputResponses = { [key]: accept({ name: 'Ada' }) };
  const second = await wire.call('ask_twice', {}, { requestState, inputResponses });
  const last = onlyQuestion(second as never);
  const answers = { [last.key]: accept({ age: 36 }) };
  const done = await wire.call('ask_twice', {}, { requestState: second['requestState'], inputResponses: answers });
  expect(textOf(done)).toBe('Hello Ada, 36');
  expect(server.state.calls).toHaveLength(1);
});

test.each([
  { who: 'rounds', capabilities: ROUNDS },
  { who: 'tasks', capabilities: TASKS },
])(
  'T-4: a modern client that leaves in a later round resumes the call by repeating it: $who',
  async ({ capabilities }) => {
    const server = await startAskThenWork();
    // Longer than the test takes: nobody is to get a task.
    const { url, gateway } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: 60_000 } });
    const direct = `${url}/one`;
    const wire = new ModernWire(direct, { capabilities });
    const round = await wire.ask('any');
    const { key } = onlyQuestion(round);
    const { requestState } = round;
    const answered = { requestState, inputResponses: { [key]: accept({ name: 'Ada' }) } };
    const { message, headers } = wire.raw('tools/call', { name: 'any', arguments: {}, ...answered });
    const left = postAndLeave(direct, message, headers);
    await soon(() => server.answered).toBe(1);
    left.destroy();
    await soon(() => gateway.sessions.flatMap(({ tasks }) => tasks.list()).map(({ abandoned }) => abandoned)).toEqual([
      true,
    ]);
    const again = wire.call('any');
    server.release();
    expect(textOf(await again)).toBe('Hello Ada');
    expect(server.calls).toBe(1);
  },
);
