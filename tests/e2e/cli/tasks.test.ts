import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { startProgram } from '../../support/program.ts';
import { begin, GENERATIONS } from './begun.ts';

test.each(GENERATIONS)('C-3: tasks get shows a task, and tasks result its result (%s)', async (_generation, start) => {
  const { server, task, taskId } = await begin(start, 'hold', { text: 'kept' });
  const state = await runCommand(['tasks', 'get', ...task, '--json']);
  expect(JSON.parse(state.stdout)).toMatchObject({ taskId, status: 'working' });
  expect((await runCommand(['tasks', 'get', ...task])).stdout).toMatch(/^status +working$/m);

  const waiting = await startProgram(['tasks', 'result', ...task]);
  const json = await startProgram(['tasks', 'result', ...task, '--json']);
  server.state.release();
  expect(await waiting.exited).toBe(0);
  expect(waiting.stdout).toEqual(['kept']);
  expect(await json.exited).toBe(0);
  expect(JSON.parse(json.stdout.join('\n'))).toMatchObject({ content: [{ type: 'text', text: 'kept' }] });
});

test.each(GENERATIONS)('C-3: tasks result answers the questions of the task (%s)', async (_generation, start) => {
  const { task } = await begin(start, 'ask');
  const { code, stdout, stderr } = await runCommand(['tasks', 'result', ...task, '--answer', '{"name":"Ada"}']);
  expect(stderr).toContain('asks: What is your name?');
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello Ada' });
});

test.each(GENERATIONS)(
  'C-3: tasks cancel cancels a task (%s), and a waiting command ends with exit code 4',
  async (_generation, start) => {
    const { server, task, taskId } = await begin(start, 'hold');
    const waiting = await startProgram(['tasks', 'watch', ...task]);
    await expect.poll(() => waiting.stderr.join('\n')).toContain('working');
    expect(await runCommand(['tasks', 'cancel', ...task])).toMatchObject({ code: 0, stdout: `cancelled ${taskId}` });
    await expect.poll(() => server.state.cancelled).toEqual(['hold']);
    expect(await waiting.exited).toBe(4);
  },
);

test.each(GENERATIONS)('C-3: tasks watch prints each change, then the result (%s)', async (_generation, start) => {
  const { task } = await begin(start, 'slow', { ms: 2500, steps: 5, text: 'at last' });
  const { code, stdout, stderr } = await runCommand(['tasks', 'watch', ...task]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'at last' });
  expect(stderr).toMatch(/^\d\d:\d\d:\d\d {2}working {2}step \d$/m);
  expect(stderr).toMatch(/working {2}step 5/);
});

test.each(GENERATIONS)(
  'C-3, T-5: a task that ends with isError or with an error response has its own exit code (%s)',
  async (_generation, start) => {
    const failed = await begin(start, 'fail');
    expect(await runCommand(['tasks', 'result', ...failed.task])).toMatchObject({ code: 3, stdout: 'disk on fire' });
    const broken = await begin(start, 'rpc_error');
    const { code, stderr } = await runCommand(['tasks', 'result', ...broken.task]);
    expect(code).toBe(1);
    expect(stderr).toContain('quota used up');
  },
);

test.each(GENERATIONS)(
  'C-3: --timeout of tasks result ends the wait, and the task continues (%s)',
  async (_generation, start) => {
    const { server, task, taskId } = await begin(start, 'hold', { text: 'kept' });
    const { code, stderr } = await runCommand(['tasks', 'result', ...task, '--timeout', '500ms']);
    expect(code).toBe(5);
    expect(stderr).toContain('timed out after 500ms; the task continues');
    expect(stderr).toContain(`tasks result ${server.url} ${taskId}`);
    server.state.release();
    expect(await runCommand(['tasks', 'result', ...task])).toMatchObject({ code: 0, stdout: 'kept' });
  },
);

test('C-3: tasks list shows the tasks of a server, and reports a server without a task list', async () => {
  const { server, taskId, session } = await begin(startTasksV1Http, 'hold');
  const listed = await runCommand(['tasks', 'list', server.url, ...session]);
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(new RegExp(`^${taskId} +working +\\d+s ago`, 'm'));
  const json = await runCommand(['tasks', 'list', server.url, ...session, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ tasks: [{ taskId, status: 'working' }] });

  const modern = await begin(startTasksV2Http, 'hold');
  const refused = await runCommand(['tasks', 'list', modern.server.url, '--json']);
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'refused' } });
  expect(refused.stderr).toContain('ask for one by its id');
});

test('C-3: unknown tasks, servers without tasks and wrong usage are errors', async () => {
  const { url } = owned(await startTasksV2Http());
  for (const action of ['get', 'result', 'cancel']) {
    const { code, stderr } = await runCommand(['tasks', action, url, 'nobody-knows-it']);
    expect(code).toBe(1);
    expect(stderr).toContain('nobody-knows-it');
  }
  const { url: plain } = owned(await startV1Http());
  const none = await runCommand(['tasks', 'get', plain, 'x']);
  expect(none.code).toBe(1);
  expect(none.stderr).toContain('this server does not support tasks');
  for (const args of [
    ['tasks', 'get', url],
    ['tasks', 'lst', url],
    ['tasks', 'list', url, 'x'],
    ['tasks', 'get', url, 'a', 'b'],
  ]) {
    expect((await runCommand(args)).code).toBe(2);
  }
});

test('C-3: the error for an unknown task suggests --session', async () => {
  const { server, taskId, session, task } = await begin(startTasksV1Http, 'hold');
  for (const action of ['get', 'result', 'watch', 'cancel']) {
    const { code, stderr } = await runCommand(['tasks', action, server.url, 'other']);
    expect(code).toBe(1);
    expect(stderr).toContain('pass the session of the task with --session ID');
    const gone = await runCommand(['tasks', action, server.url, 'other', '--session', 'gone']);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain("the server no longer knows the session 'gone'");
    const known = await runCommand(['tasks', action, server.url, 'other', ...session]);
    expect(known.code).toBe(1);
    expect(known.stderr).not.toContain('session');
  }
  expect((await runCommand(['tasks', 'get', ...task])).stdout).toContain(taskId);

  const modern = owned(await startTasksV2Http());
  expect((await runCommand(['tasks', 'get', modern.url, 'other'])).stderr).not.toContain('session');
}, 40_000);

test('C-3: tasks get shows times with their unit', async () => {
  const { task } = await begin(startTasksV1Http, 'hold');
  const { stdout } = await runCommand(['tasks', 'get', ...task]);
  expect(stdout).toMatch(/^ttl +(?:no limit|\d+ ms(?: \(\S.*\))?)$/m);
});
