import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { legacy, programByHand, text, toolNamed, type Asker } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';

const SAMPLING = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
  maxTokens: 10,
  _meta: { progressToken: 'the server’s' },
};
const ANSWER = { role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'm' };

test('D-5, D-2: progress of the client on a question reaches the server', async () => {
  let asker: Asker | undefined;
  const script = legacy(
    {
      'tools/list': (caller) => caller.reply({ tools: [toolNamed('work', 'forbidden')] }),
      'tools/call': (caller) => {
        asker = caller;
        caller.say({ id: 'q', method: 'sampling/createMessage', params: SAMPLING });
      },
    },
    { tasks: undefined },
  );
  const program = await programByHand(script);
  const { url } = await httpGateway({ one: program.config });
  const wire = await LegacyWire.open(`${url}/one`);
  const stream = await wire.callStream('work');
  const question = await stream.heard('sampling/createMessage');
  const { progressToken } = (question['params'] as { _meta: { progressToken: unknown } })._meta;
  await wire.notify('notifications/progress', { progressToken, progress: 1, message: 'thinking' });
  await soon(() => program.heard.find(({ method }) => method === 'notifications/progress')).toMatchObject({
    params: { progressToken: 'the server’s', progress: 1, message: 'thinking' },
  });
  await stream.answer(question, ANSWER);
  await soon(() => program.heard.find(({ id, method }) => id === 'q' && method === undefined)).toMatchObject({
    result: ANSWER,
  });
  asker?.reply(text('done'));
  expect(await stream.result()).toEqual(text('done'));
});
