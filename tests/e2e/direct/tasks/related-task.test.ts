import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { coreTask, httpByHand, legacy, programByHand, question, text } from '../../native/by-hand.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const OF_SERVER = { [RELATED]: { taskId: 't' } };

const STARTS = { http: httpByHand, stdio: programByHand };

/** A server with one task, `t`, which asks something before it ends. */
async function asker(door: keyof typeof STARTS) {
  let ended = false;
  const server = await STARTS[door](
    legacy({
      'tools/call': (each) => each.reply({ task: coreTask('working') }),
      'tasks/get': (each) => each.reply(coreTask(ended ? 'completed' : 'input_required')),
      'tasks/result': (each) => {
        each.say({ id: 'q', method: 'elicitation/create', params: question('Sure?', { _meta: OF_SERVER }) });
        void soon(() => answers().length)
          .toBe(1)
          .then(() => {
            ended = true;
            each.say(each.answer({ ...text('done'), _meta: OF_SERVER }));
          });
      },
    }),
  );
  const answers = (): Json[] => server.heard.filter(({ id, method }) => id === 'q' && method === undefined);
  return { config: server.config, answers };
}

test.each(['http', 'stdio'] as const)(
  'B-6, D-3: the answer to a server’s task names the server’s task id, not the client’s (%s)',
  async (door) => {
    const server = await asker(door);
    const { url } = await httpGateway({ one: server.config });
    const wire = await LegacyWire.open(`${url}/one`);
    const { taskId } = await wire.begin('work');
    const result = await wire.stream('tasks/result', { taskId });
    const asked = await result.heard('elicitation/create');
    expect(asked['params']).toMatchObject({ _meta: { [RELATED]: { taskId } } });
    // As clients should, it names the task that it knows.
    const _meta = { [RELATED]: { taskId }, 'vendor.example/more': 1 };
    await result.answer(asked, { ...accept({}), _meta });
    expect(textOf(await result.result())).toBe('done');
    expect(server.answers()).toMatchObject([
      { result: { action: 'accept', _meta: { ...OF_SERVER, 'vendor.example/more': 1 } } },
    ]);
  },
);

test('B-6: an answer given at the hub to a server’s task names the server’s task id', async () => {
  const server = await asker('http');
  const { url } = await httpGateway({ one: server.config });
  const hub = await hubOverHttp(url, 'v1');
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'work' });
  const answer = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: {} };
  expect(await hub.call('respond_to_elicitation', answer)).toMatchObject({ isError: false });
  await soon(server.answers).toMatchObject([{ result: { action: 'accept', content: {}, _meta: OF_SERVER } }]);
});

const SERVERS = { 'a plain': startV1Http, 'a 2025-11-25': startTasksV1Http };

test.each(Object.entries(SERVERS))(
  'D-3, T-7: progress of a task names the task, with the token of its call and of tasks/result: %s server',
  async (_kind, start) => {
    const server = owned(await start());
    const { url } = await httpGateway({ one: { url: server.url } });
    const wire = await LegacyWire.open(`${url}/one`);
    const standing = await wire.listen();
    const args = { ms: 900, steps: 3, by: 'progress' };
    const ofCall = { task: {}, _meta: { progressToken: 'of the call' } };
    const created = (await wire.call('slow', args, ofCall))['task'] as { taskId: string };
    const { taskId } = created;
    const result = await wire.stream('tasks/result', { taskId, _meta: { progressToken: 'of the result' } });
    await result.result();
    const told = [...standing.told('notifications/progress'), ...result.told('notifications/progress')];
    const tokens = new Set(told.map(({ progressToken }) => progressToken));
    expect(tokens).toEqual(new Set(['of the call', 'of the result']));
    for (const { _meta } of told) expect(_meta).toEqual({ [RELATED]: { taskId } });
  },
);

test('D-2, T-7: progress of a call that is no task for the client names no task', async () => {
  const server = owned(await startTasksV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const wire = await LegacyWire.open(`${url}/one`);
  const stream = await wire.callStream(
    'slow',
    { ms: 600, steps: 3, by: 'progress' },
    { _meta: { progressToken: 'x' } },
  );
  await stream.result();
  const told = stream.told('notifications/progress');
  expect(told.length).toBeGreaterThan(0);
  for (const progress of told) expect(progress).not.toHaveProperty('_meta');
});
