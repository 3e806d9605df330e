import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { runCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { startProgram } from '../../support/program.ts';
import { tasksV1Stdio, v1Stdio } from '../../support/servers.ts';
import { programInTerminal } from '../../support/terminal.ts';
import { begin, GENERATIONS } from './begun.ts';

test('C-3: Ctrl-C offers to cancel or to continue; a continued call prints its result', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'slow', 'ms=5000']);
  await terminal.shows(/slow \ds/);
  terminal.press('C-c');
  const menu = await terminal.shows('● Cancel it');
  // The server does not keep the call, so it cannot be left.
  expect(menu).not.toContain('Leave it running');
  terminal.press('Down');
  await terminal.shows('● Continue');
  terminal.press('Enter');
  await terminal.shows(/slow \ds/);
  const { code, screen } = await terminal.ended();
  expect(screen).toMatch(/^done$/m);
  expect(code).toBe(0);
});

test('C-3: a second Ctrl-C cancels the call, on the server too', async () => {
  const server = owned(await startV1Http());
  const terminal = await programInTerminal(['call', server.url, 'slow', 'ms=60000']);
  await terminal.shows(/slow \ds/);
  terminal.press('C-c');
  await terminal.shows('● Cancel it');
  terminal.press('C-c');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(4);
  expect(screen).toContain('meanwhile: the call was cancelled');
  expect(server.state.cancelled).toEqual(['slow']);
});

test('C-3: a call that ends while the Ctrl-C menu is open prints its result', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'slow', 'ms=5000']);
  await terminal.shows(/slow \ds/);
  terminal.press('C-c');
  await terminal.shows('● Cancel it');
  const { code, screen } = await terminal.ended();
  expect(screen).toMatch(/^done$/m);
  expect(code).toBe(0);
});

test('C-3: Ctrl-C at a question offers the same; after continuing, the question is asked again', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'ask']);
  await terminal.shows('● Answer');
  terminal.press('C-c');
  await terminal.shows('● Cancel it');
  terminal.press('Escape');
  await terminal.shows(/■ {2}Stop\?[\s\S]*● Answer/);
  terminal.press('C-c');
  await terminal.shows(/■ {2}Stop\?[\s\S]*● Cancel it/);
  terminal.press('Enter');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(4);
  expect(screen).toContain('the call was cancelled');
});

test.each([
  ['2025-11-25', startTasksV1Http],
  ['2026-07-28', startTasksV2Http],
])('C-3: a call that a server of %s keeps as a task can be left running and resumed', async (generation, start) => {
  const server = owned(await start());
  const terminal = await programInTerminal(['call', server.url, 'hold', 'text=kept'], { columns: 300 });
  await terminal.shows(/hold \ds/);
  terminal.press('C-c');
  await terminal.shows('● Cancel it');
  terminal.press('Down');
  await terminal.shows('● Leave it running');
  terminal.press('Enter');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(130);
  expect(server.state.cancelled).toEqual([]);

  const [, back = ''] = /come back with: node \S+ (.*)$/m.exec(screen) ?? [];
  const [tasks, result, url, taskId = '', ...session] = back.split(' ');
  expect([tasks, result, url]).toEqual(['tasks', 'result', server.url]);
  expect(session.length).toBe(generation === '2025-11-25' ? 2 : 0);
  const state = await runCommand(['tasks', 'get', server.url, taskId, ...session, '--json']);
  expect(JSON.parse(state.stdout)).toMatchObject({ taskId, status: 'working' });
  server.state.release();
  expect(await runCommand(back.split(' '))).toMatchObject({ code: 0, stdout: 'kept' });
});

test('C-3: a task that waits for an answer can be left running only if its server asks again', async () => {
  const modern = owned(await startTasksV2Http());
  const leaving = await programInTerminal(['call', modern.url, 'ask'], { columns: 300 });
  await leaving.shows('● Answer');
  leaving.press('C-c');
  await leaving.shows('● Cancel it');
  leaving.press('Down');
  await leaving.shows('● Leave it running');
  leaving.press('Enter');
  const [, back = ''] = /come back with: node \S+ (.*)$/m.exec((await leaving.ended()).screen) ?? [];
  const answered = await runCommand([...back.split(' '), '--answer', '{"name":"Ada"}']);
  expect(answered).toMatchObject({ code: 0, stdout: 'Hello Ada' });

  const old = owned(await startTasksV1Http());
  const staying = await programInTerminal(['call', old.url, 'ask']);
  await staying.shows('● Answer');
  staying.press('C-c');
  const menu = await staying.shows('● Cancel it');
  expect(menu).not.toContain('○ Leave it running');
  expect(menu).toContain('You cannot leave it running: servers of the older protocol do not repeat a question');
});

test('C-3: a task of a command server cannot be left running, because the server ends with the program', async () => {
  const { command, args } = tasksV1Stdio();
  const terminal = await programInTerminal(['call', [command, ...args].join(' '), 'hold']);
  await terminal.shows(/hold \ds/);
  terminal.press('C-c');
  expect(await terminal.shows('● Cancel it')).not.toContain('Leave it running');
  terminal.press('Enter');
  expect((await terminal.ended()).code).toBe(4);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'C-3: without a terminal %s cancels the call and exits with 130',
  async (signal) => {
    const server = owned(await startV1Http());
    const program = await startProgram(['call', server.url, 'slow', 'ms=60000', '--json']);
    await expect.poll(() => server.state.calls.length).toBe(1);
    program.child.kill(signal);
    expect(await program.exited).toBe(130);
    expect(JSON.parse(program.stdout.join('\n'))).toMatchObject({ error: { code: 'interrupted' } });
    await expect.poll(() => server.state.cancelled).toEqual(['slow']);
    // The session was ended too; the other one is that of the look at what the server speaks.
    expect(server.state.connections - server.state.sessions.size).toBe(1);
  },
);

describe.each(GENERATIONS)('Ctrl-C at a task that another command started (%s)', (_generation, start) => {
  test.each(['result', 'watch'])(
    'C-3: a second Ctrl-C at tasks %s stops waiting, and the task continues',
    async (action) => {
      const { server, task, taskId } = await begin(start, 'hold', { text: 'kept' });
      const terminal = await programInTerminal(['tasks', action, ...task], { columns: 300 });
      await terminal.shows(/task \S+ \ds/);
      terminal.press('C-c');
      expect(await terminal.shows('● Stop waiting (the task continues; also Ctrl-C)')).toContain('○ Cancel the task');
      terminal.press('C-c');
      const { code, screen } = await terminal.ended();
      expect(code).toBe(130);
      expect(screen).toContain('stopped waiting; the task continues');
      expect(screen).toContain(`tasks result ${server.url} ${taskId}`);
      expect(server.state.cancelled).toEqual([]);
      server.state.release();
      expect(await runCommand(['tasks', 'result', ...task])).toMatchObject({ code: 0, stdout: 'kept' });
    },
  );

  test('C-3: the menu can cancel the task', async () => {
    const { server, task } = await begin(start, 'hold');
    const terminal = await programInTerminal(['tasks', 'result', ...task]);
    await terminal.shows(/task \S+ \ds/);
    terminal.press('C-c');
    await terminal.shows('● Stop waiting');
    terminal.press('Down');
    await terminal.shows('● Cancel the task');
    terminal.press('Enter');
    const { code, screen } = await terminal.ended();
    expect(code).toBe(4);
    expect(screen).toContain('meanwhile: the task was cancelled');
    expect(server.state.cancelled).toEqual(['hold']);
  });
});

test.each(GENERATIONS)(
  'C-3: after the server (%s) is gone, the messages confirm neither a cancel nor a kept task',
  async (_generation, start) => {
    const server = owned(await start());
    const cancelling = await programInTerminal(['call', server.url, 'hold']);
    const leaving = await programInTerminal(['call', server.url, 'hold'], { columns: 300 });
    for (const terminal of [cancelling, leaving]) await terminal.shows(/hold \ds/);
    await expect
      .poll(() => server.state.received.filter(({ message }) => message.method === 'tasks/get').length)
      .toBeGreaterThan(2);
    await server.stop();
    for (const terminal of [cancelling, leaving]) {
      await terminal.shows(/hold \d+s .*connection lost, reconnecting/);
      terminal.press('C-c');
      expect(await terminal.shows('● Cancel it')).not.toContain('Leave it running');
    }
    cancelling.press('Enter');
    const cancelled = await cancelling.ended();
    expect(cancelled.code).toBe(4);
    expect(cancelled.screen).toContain('meanwhile: cancelled; the server has not confirmed it');
    leaving.press('Down');
    await leaving.shows('● Leave it (the server is unreachable, and may have lost it)');
    leaving.press('Enter');
    const left = await leaving.ended();
    expect(left.code).toBe(130);
    expect(left.screen).toContain('stopped waiting; the connection is lost, so the server may no longer have the task');
    expect(left.screen).toMatch(/come back with: .* tasks result /);
    if (start === startTasksV1Http) expect(left.screen).toMatch(/come back with: .* --session \S+/);
  },
);

test('C-3: a cancel that the server does not answer is reported as unconfirmed', async () => {
  const { command, args } = v1Stdio();
  const folder = await temporaryFolder();
  const pid = join(folder, 'pid');
  const wrapper = join(folder, 'server.sh');
  await writeFile(wrapper, `#!/bin/sh\necho $$ > '${pid}'\nexec '${command}' '${args[0]}'\n`, { mode: 0o755 });
  const terminal = await programInTerminal(['call', wrapper, 'slow', 'ms=60000']);
  await terminal.shows(/slow \ds/);
  process.kill(Number(await readFile(pid, 'utf8')), 'SIGSTOP');
  terminal.press('C-c');
  await terminal.shows('● Cancel it');
  terminal.press('Enter');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(4);
  expect(screen).toContain('meanwhile: cancelled; the server has not confirmed it');
});
