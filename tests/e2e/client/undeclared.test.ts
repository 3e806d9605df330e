import { expect, test } from 'vitest';
import { asking, httpByHand, legacy, programByHand, text } from '../native/by-hand.ts';
import { soon } from '../flows/watch.ts';
import { clientOf } from './clients.ts';

const SAMPLING = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5, task: { ttl: 60_000 } } };
const DOORS = { http: httpByHand, stdio: programByHand };

test.each(Object.entries(DOORS))(
  'C-1, R-1: a task-augmented request of a kind that the client did not declare is refused (%s)',
  async (_door, start) => {
    const server = await start(
      legacy(
        {
          'tools/call': (asker) => {
            asker.say({ id: 's', ...SAMPLING }, asking('e', 'Sure?', { task: { ttl: 60_000 } }));
            void soon(() => answers().length)
              .toBe(2)
              .then(() => asker.say(asker.answer(text('done'))));
          },
        },
        { tasks: undefined },
      ),
    );
    const answers = () => server.heard.filter(({ id, method }) => (id === 's' || id === 'e') && method === undefined);
    const { client, of } = clientOf(server.config, { elicitation: true });
    await client.callTool('work');
    expect(answers().find(({ id }) => id === 's')).toMatchObject({
      error: { message: expect.stringContaining('sampling') as string },
    });
    // What it declared is kept as a task.
    expect(answers().find(({ id }) => id === 'e')).toMatchObject({ result: { task: { status: 'working' } } });
    expect(of('newPendingSample')).toEqual([]);
  },
);
