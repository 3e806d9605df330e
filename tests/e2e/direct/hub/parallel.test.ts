import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';
import { puppet, TOOL } from '../regressions/puppet.ts';

test.each(['legacy', 'modern'] as const)(
  'D-7, H-3: a question of one of two calls is answered at the hub if the client cannot be asked (%s)',
  async (era) => {
    const server = await puppet();
    const { url } = await httpGateway({ one: server.config });
    const wire =
      era === 'legacy'
        ? await LegacyWire.open(`${url}/one`, { capabilities: {} })
        : new ModernWire(`${url}/one`, { capabilities: {} });
    const hub = await hubOverHttp(url, 'modern');
    const a = wire.call(TOOL, { name: 'a' });
    await server.begun('a');
    const b = wire.call(TOOL, { name: 'b' });
    await server.begun('b');
    server.ask('b', 'of b');
    const open = async () => (await hub.call('get_elicitations')).elicitations;
    await soon(open).toMatchObject([{ message: 'of b' }]);
    const [question] = await open();
    const answer = { request_id: question?.requestId, action: 'accept', content: {} };
    expect((await hub.call('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
    expect(await server.answer('of b')).toMatchObject({ result: { action: 'accept' } });
    // Neither call was taken from its client.
    server.end('a');
    server.end('b');
    expect(textOf(await a)).toBe('end of a');
    expect(textOf(await b)).toBe('end of b');
  },
);

test('D-2, H-3: a client with a session keeps a question when the call whose stream carried it ends', async () => {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config });
  const wire = await LegacyWire.open(`${url}/one`);
  const a = await wire.callStream(TOOL, { name: 'a' });
  await server.begun('a');
  const b = await wire.callStream(TOOL, { name: 'b' });
  await server.begun('b');
  server.ask('b', 'of b');
  await soon(() => [a, b].some((stream) => stream.told('elicitation/create').length > 0)).toBe(true);
  const [on, name, other, otherName] =
    a.told('elicitation/create').length > 0 ? ([a, 'a', b, 'b'] as const) : ([b, 'b', a, 'a'] as const);
  server.end(name);
  expect(textOf(await on.result())).toBe(`end of ${name}`);
  await on.answer(await on.heard('elicitation/create'), { action: 'accept', content: {} });
  expect(await server.answer('of b')).toMatchObject({ result: { action: 'accept' } });
  server.end(otherName);
  expect(textOf(await other.result())).toBe(`end of ${otherName}`);
  expect(other.told('elicitation/create')).toEqual([]);
});
