import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { CAN_BE_ASKED, LegacyWire } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';
import { SLOW_MS } from './leavers.ts';

async function behind() {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const wire = await LegacyWire.open(`${url}/one`, { capabilities: CAN_BE_ASKED });
  return { server, hub, wire };
}

const SLOW = { ms: SLOW_MS, text: 'the result' };

test('E-5, T-4, D-2: a stream that breaks during a call is resumed and brings the result', async () => {
  const { server, hub, wire } = await behind();
  const stream = await wire.callStream('slow', SLOW);
  stream.drop();
  await soon(() => tasksOf(hub)).toMatchObject([{ status: 'working' }]);
  const rest = await wire.listen(stream.lastEventId);
  expect(textOf(await rest.result())).toBe('the result');
  expect(server.state.calls).toHaveLength(1);
});

test('E-5, T-4, D-2: a stream that is resumed after the call ended brings the result', async () => {
  const { server, hub, wire } = await behind();
  const stream = await wire.callStream('slow', SLOW);
  stream.drop();
  await soon(() => tasksOf(hub)).toMatchObject([{ status: 'completed' }]);
  const rest = await wire.listen(stream.lastEventId);
  expect(textOf(await rest.result())).toBe('the result');
  expect(server.state.calls).toHaveLength(1);
});

test('E-5, T-4: a result that a resumed stream brought counts as delivered: the identical call runs anew', async () => {
  const { server, hub, wire } = await behind();
  const stream = await wire.callStream('slow', SLOW);
  stream.drop();
  await soon(() => tasksOf(hub)).toMatchObject([{ status: 'working' }]);
  const rest = await wire.listen(stream.lastEventId);
  await rest.result();
  await wire.call('slow', SLOW);
  expect(server.state.calls).toHaveLength(2);
});

test('E-5, T-4: a result that had ended before the stream was resumed counts as delivered, too', async () => {
  const { server, hub, wire } = await behind();
  const stream = await wire.callStream('slow', SLOW);
  stream.drop();
  await soon(() => tasksOf(hub)).toMatchObject([{ status: 'completed' }]);
  await (await wire.listen(stream.lastEventId)).result();
  await soon(() => tasksOf(hub)).toEqual([]);
  await wire.call('slow', SLOW);
  expect(server.state.calls).toHaveLength(2);
});

test('E-5, D-2: a question can be answered on the resumed stream', async () => {
  const { wire, server } = await behind();
  const stream = await wire.callStream('ask', { message: 'Who?' });
  const { lastEventId } = stream;
  await stream.heard('elicitation/create');
  stream.drop();
  await soon(() => server.state.calls.length).toBe(1);
  const rest = await wire.listen(lastEventId);
  const asked = await rest.heard('elicitation/create');
  await rest.answer(asked, accept({ name: 'Ada' }));
  expect(textOf(await rest.result())).toBe('Hello Ada');
});

test('E-5, D-3: a broken stream of `tasks/result` is resumed and brings the result', async () => {
  const { wire } = await behind();
  const { taskId } = await wire.begin('slow', SLOW);
  const stream = await wire.stream('tasks/result', { taskId });
  stream.drop();
  const rest = await wire.listen(stream.lastEventId);
  expect(textOf(await rest.result())).toBe('the result');
});
