import { expect, test } from 'vitest';
import {
  coreTask,
  extensionTask,
  httpByHand,
  legacy,
  modern,
  programByHand,
  text,
  type Json,
  type Script,
} from './by-hand.ts';
import { connectTo } from './connected.ts';
import { soon } from '../flows/watch.ts';

const NEVER_MS = 600_000;
const DONE = { kind: 'result', result: text('done') };

const DOORS = [
  { door: 'http', start: httpByHand },
  { door: 'stdio', start: programByHand },
];

const news = (task: Json): Json => ({ method: 'notifications/tasks/status', params: task });

/** Ends its task with the answer to `tools/call`, or to the first `tasks/get`, and says so in the same breath. */
function core(at: string): Script {
  const never = { pollInterval: NEVER_MS };
  let ended = false;
  const end = (): Json => {
    ended = true;
    return news(coreTask('completed', never));
  };
  return legacy({
    'tools/call': (asker) => {
      const created = asker.answer({ task: coreTask('working', never) });
      if (at === 'created with it') asker.say(created, end());
      else if (at === 'created before it') asker.say(end(), created);
      // Without this there would be no look at all.
      else asker.say(news(coreTask('working', never)), created);
    },
    'tasks/get': (asker) => {
      const told = asker.answer(coreTask(ended ? 'completed' : 'working', never));
      if (ended) asker.say(told);
      else if (at === 'looked at before it') asker.say(end(), told);
      else asker.say(told, end());
    },
    'tasks/result': (asker) => asker.reply(text('done')),
  });
}

/** On a response stream nothing comes after the answer. */
const MOMENTS = [
  ...['created before it', 'looked at before it'].flatMap((at) => DOORS.map((each) => ({ ...each, at }))),
  { at: 'created with it', door: 'stdio', start: programByHand },
  { at: 'looked at with it', door: 'stdio', start: programByHand },
];

test.each(MOMENTS)('B-6: a notification next to a response is not missed: task $at ($door)', async ({ at, start }) => {
  const server = await start(core(at));
  const { call } = connectTo(server.config);
  expect(await call('a')).toEqual(DONE);
  expect(server.count('tasks/get')).toBeLessThan(4);
});

test('B-6: a notification of an extension task next to the response of tasks/get is not missed', async () => {
  const never = { pollIntervalMs: NEVER_MS };
  let ended = false;
  const done = extensionTask('completed', { ...never, result: text('done') });
  const program = await programByHand(
    modern({
      'tools/call': (asker) => asker.reply(extensionTask('input_required', { resultType: 'task', ...never })),
      'tasks/get': (asker) => {
        if (ended) return asker.reply(done);
        ended = true;
        asker.say(asker.answer(extensionTask('working', never)), { method: 'notifications/tasks', params: done });
      },
    }),
  );
  const { call } = connectTo(program.config);
  expect(await call('a')).toEqual(DONE);
  expect(program.count('tasks/get')).toBe(2);
});

test.each(DOORS)(
  'B-6: a server that sends a notification for every poll is not polled in a loop ($door)',
  async ({ start }) => {
    const looks: number[] = [];
    const server = await start(
      legacy({
        'tools/call': (asker) => asker.reply({ task: coreTask('working') }),
        'tasks/get': (asker) => {
          looks.push(Date.now());
          const task = coreTask('working', { pollInterval: NEVER_MS, statusMessage: `look ${looks.length}` });
          asker.say(news(task), asker.answer(task));
        },
      }),
    );
    const { call } = connectTo(server.config);
    const stop = new AbortController();
    const ended = call('a', { signal: stop.signal });
    await soon(() => looks.length).toBeGreaterThan(30);
    stop.abort();
    await ended;
    // About twenty in a second; however busy the machine is, the looks can only be further apart.
    expect(Number(looks[30]) - Number(looks[0])).toBeGreaterThan(1200);
  },
);
