import { expect, test } from 'vitest';
import type { Json } from '../../../support/hub.ts';
import { post } from '../../../support/raw-http.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';
import { behind } from './behind.ts';

const deep = (levels: number): unknown => {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
};

/** None of them is a call that a server could make sense of. */
const ODD: readonly Json[] = [
  {},
  { name: 5 },
  { name: null, arguments: {} },
  { name: ['echo'], arguments: { text: 'x' } },
  { name: 'echo', arguments: [] },
  { name: 'echo', arguments: 'text' },
  { name: 'echo', arguments: 5 },
  { name: 'nobody knows it', arguments: {} },
  { name: '__proto__', arguments: {} },
  { name: 'x'.repeat(2000), arguments: {} },
  { name: 'echo', arguments: { text: 5 } },
];

test.each(ODD.map((params) => [JSON.stringify(params).slice(0, 60), params] as const))(
  'D-5, X-4: a malformed call of a legacy client gets the error of its server, and the next call works: %s',
  async (_what, params) => {
    const { one, plain } = await behind();
    const alone = await LegacyWire.open(plain.url);
    const { error } = await alone.send('tools/call', params);
    const wire = await LegacyWire.open(one);
    expect((await wire.send('tools/call', params)).error).toEqual(error);
    const asTask = await wire.send('tools/call', { ...params, task: {} });
    if (asTask.result === undefined) expect(asTask.error).toEqual(error);
    else expect(await wire.error('tasks/result', asTask.result['task'] as Json)).toEqual(error);
    expect(textOf(await wire.call('echo', { text: 'still here' }))).toBe('still here');
    expect(await wire.request('ping')).toEqual({});
  },
);

test.each(ODD.map((params) => [JSON.stringify(params).slice(0, 60), params] as const))(
  'D-5, X-4: a malformed call of a modern client gets an error, and the next call works: %s',
  async (_what, params) => {
    const { one } = await behind();
    const wire = new ModernWire(one);
    const { status, error } = await wire.send('tools/call', params);
    expect(status).toBeLessThan(500);
    expect(error?.code).toBeLessThan(0);
    expect(textOf(await wire.call('echo', { text: 'still here' }))).toBe('still here');
  },
);

test('X-4, D-5: unusual but valid arguments reach the server unchanged', async () => {
  const { one, plain } = await behind();
  const wire = await LegacyWire.open(one);
  const args = JSON.parse(
    `{"text":"😀\\u0000\\ud800","constructor":{"polluted":1},"deep":${JSON.stringify(deep(900))}}`,
  ) as Json;
  const { content } = await wire.call('echo', args);
  expect(content).toMatchObject([{ text: args['text'] }]);
  const [received] = plain.state.calls;
  expect(JSON.stringify(received?.args)).toBe(JSON.stringify(args));
});

test('X-3: a body that is too large is refused, and the session continues', async () => {
  const { one } = await behind({ limits: { bodyBytes: 100_000 } });
  const wire = await LegacyWire.open(one);
  const large = { name: 'echo', arguments: { text: 'x'.repeat(200_000) } };
  expect((await wire.send('tools/call', large)).status).toBe(413);
  expect((await new ModernWire(one).send('tools/call', large)).status).toBe(413);
  expect(textOf(await wire.call('echo', { text: 'small' }))).toBe('small');
});

test('X-3: a result that is too large is an error, and the session continues', async () => {
  const { one } = await behind({ limits: { resultBytes: 10_000 } });
  const wire = await LegacyWire.open(one);
  const params = { name: 'big', arguments: { bytes: 50_000 } };
  const tooLarge = { message: expect.stringContaining('limits.resultBytes') as unknown };
  expect(await wire.error('tools/call', params)).toMatchObject(tooLarge);
  expect(await new ModernWire(one).error('tools/call', params)).toMatchObject(tooLarge);
  const { taskId } = await wire.begin('big', { bytes: 50_000 });
  expect(await wire.error('tasks/result', { taskId })).toMatchObject(tooLarge);
});

test.each([
  ['resources/subscribe', {}],
  ['resources/subscribe', { uri: 5 }],
  ['resources/unsubscribe', { uri: null }],
  ['logging/setLevel', {}],
  ['logging/setLevel', { level: 'loud' }],
  ['resources/read', { uri: {} }],
  ['prompts/get', { name: [] }],
  ['completion/complete', { ref: 5 }],
  ['tools/list', { cursor: 5 }],
  ['tools/list', { cursor: 'nonsense' }],
  ['no/such/method', {}],
  ['__proto__', {}],
] as const)('D-5, X-4: %s with %j gets the same response as from the server alone', async (method, params) => {
  const { one, plain } = await behind();
  const [alone, wire] = await Promise.all([LegacyWire.open(plain.url), LegacyWire.open(one)]);
  const expected = await alone.send(method, params);
  const { result, error } = await wire.send(method, params);
  expect({ result, error }).toEqual({ result: expected.result, error: expected.error });
});

test('X-4: a second request with an id that is in use is refused, and the first one continues', async () => {
  const { one } = await behind();
  const wire = await LegacyWire.open(one);
  const { message, headers } = wire.raw('tools/call', { name: 'slow', arguments: { ms: 500, text: 'first' } });
  const first = post(one, message, headers);
  await expect.poll(async () => (await post(one, { ...message, method: 'ping' }, headers)).status).toBe(400);
  expect((await first).json).toMatchObject({ result: { content: [{ text: 'first' }] } });
});
