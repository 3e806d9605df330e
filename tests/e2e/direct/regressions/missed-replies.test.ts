import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { legacy, programByHand, text, toolNamed, type Asker } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';

/** More than is kept for those who come back to a broken stream. */
const MANY = 1100;

const CHAT = Array.from({ length: MANY }, (_, line) => ({
  method: 'notifications/message',
  params: { level: 'info', data: `line ${line}` },
}));

test('T-4, E-5: a missed reply that fell out of the replay buffer does not count as delivered', async () => {
  const calls: string[] = [];
  let first: Asker | undefined;
  const script = legacy(
    {
      'tools/list': (asker) => asker.reply({ tools: [toolNamed('work', 'forbidden'), toolNamed('chat', 'forbidden')] }),
      'tools/call': (asker, { name }) => {
        calls.push(String(name));
        if (name === 'work') first = asker;
        else asker.say(...CHAT, asker.answer(text('said all')));
      },
    },
    { tasks: undefined, logging: {} },
  );
  const { config } = await programByHand(script);
  const { url, gateway } = await httpGateway({ one: config });
  const wire = await LegacyWire.open(`${url}/one`);
  const tasks = (): unknown => gateway.sessions.flatMap((session) => session.tasks.list());

  const stream = await wire.callStream('work');
  const { lastEventId } = stream;
  stream.drop();
  await soon(tasks).toMatchObject([{ status: 'working', abandoned: true }]);
  first?.reply(text('the result'));
  await soon(tasks).toMatchObject([{ status: 'completed', abandoned: true }]);
  expect(textOf(await wire.call('chat'))).toBe('said all');

  const { error } = await (await wire.listen(lastEventId)).answered();
  expect(error).toMatchObject({ message: expect.stringContaining('repeat the call to get its result') });
  expect(textOf(await wire.call('work'))).toBe('the result');
  expect(calls).toEqual(['work', 'chat']);
});
