import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { textOf } from '../answered.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS, type Round } from '../modern-wire.ts';
import { puppet, TOOL } from './puppet.ts';

test('D-4, H-3: a question moves to another call when the client does not return to the round that carried it', async () => {
  const server = await puppet();
  const { url } = await httpGateway({ one: server.config });
  const wire = new ModernWire(`${url}/one`, { capabilities: ROUNDS });
  const begin = async (name: string): Promise<{ name: string; reply: Promise<Round> }> => {
    const reply = wire.ask(TOOL, { name });
    await server.begun(name);
    return { name, reply };
  };
  const calls = [await begin('a'), await begin('b')];
  server.ask('b', 'of b');
  // Whoever gets it is never heard of again.
  const carrier = await Promise.race(calls.map(async ({ name, reply }) => reply.then(() => name)));
  server.end(carrier);
  const other = calls.find(({ name }) => name !== carrier);
  const round = await other?.reply;
  if (other === undefined || round === undefined) throw new Error('nobody else');
  const { key, params } = onlyQuestion(round);
  expect(params).toMatchObject({ message: 'of b' });
  const { requestState } = round;
  const rest = wire.call(TOOL, { name: other.name }, { requestState, inputResponses: { [key]: accept({}) } });
  expect(await server.answer('of b')).toMatchObject({ result: accept({}) });
  server.end(other.name);
  expect(textOf(await rest)).toBe(`end of ${other.name}`);
});
