import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, type LogLine } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { logged, logLines, serveProgram, startProgram } from '../../support/program.ts';
import { INITIALIZE, send, toolCall } from '../../support/raw-http.ts';
import { v1Stdio } from '../../support/servers.ts';

/** The event names of the seed that a slow call, a question and a loss bring. */
const EXPECTED: [event: string, level: string, data: string[]][] = [
  ['server_connected', 'info', ['server']],
  ['server_disconnected', 'info', ['server', 'reason']],
  ['server_reconnecting', 'info', ['server', 'attempt', 'delayMs']],
  ['tool_execution_start', 'debug', ['server', 'tool', 'hasArgs']],
  ['tool_execution_complete', 'debug', ['server', 'tool', 'durationMs']],
  ['tool_execution_timeout', 'info', ['server', 'tool', 'taskId']],
  ['task_completed', 'info', ['taskId', 'server', 'tool']],
  ['task_failed', 'warn', ['taskId', 'server', 'tool', 'error']],
  ['elicitation_received', 'info', ['requestId', 'server']],
  ['elicitation_responded', 'info', ['requestId', 'durationMs']],
  ['registry_shutdown_start', 'info', ['serverCount']],
  ['registry_shutdown_complete', 'info', []],
];

function expectLogLine(line: LogLine): void {
  expect(line).toMatchObject({
    level: expect.stringMatching(/^(debug|info|warn|error)$/),
    event: expect.stringMatching(/^[a-z]+(_[a-z]+)*$/),
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  });
}

test('O-1: serve logs one JSON object per line to standard error, and standard output stays empty', async () => {
  const config = await configFile(
    { child: v1Stdio() },
    { logLevel: 'debug', servers: { reconnect: { firstMs: 50, maxMs: 50 } } },
  );
  const program = await serveProgram(['--config', config]);
  const hub = await hubOverHttp(program.url);
  const asked = await hub.call('execute_tool', { server: 'child', tool: 'ask' });
  await hub.call('respond_to_elicitation', {
    request_id: asked.elicitations[0]?.requestId,
    action: 'accept',
    content: { name: 'Ada' },
  });
  await logged(program, 'task_completed');
  await hub.call('execute_tool', { server: 'child', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 });
  await hub.call('execute_tool', { server: 'child', tool: 'crash' });
  await logged(program, 'server_reconnecting');
  expect(await program.stop()).toBe(0);

  const lines = logLines(program);
  for (const line of lines) expectLogLine(line);
  for (const [event, level, keys] of EXPECTED) {
    const line = lines.find((each) => each.event === event);
    expect(line?.level, event).toBe(level);
    expect(Object.keys(line?.data ?? {}), event).toEqual(expect.arrayContaining(keys));
  }
  expect(program.stdout).toEqual([]);
});

test('O-1: on stdio standard output contains only protocol messages', async () => {
  const server = owned(await startV1Http());
  const config = await configFile({ one: { url: server.url }, child: v1Stdio() }, { logLevel: 'debug' });
  const program = await startProgram(['stdio', '--config', config]);
  const write = (message: Json): void => void program.child.stdin.write(`${JSON.stringify(message)}\n`);
  write(INITIALIZE);
  write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  write(toolCall('execute_tool', { server: 'child', tool: 'stderr', args: { bytes: 5000 } }, 1));
  write(toolCall('execute_tool', { server: 'one', tool: 'notify', args: { count: 20 } }, 2));
  write(toolCall('list_tools', {}, 3));
  const answered = (): Set<unknown> => new Set(program.stdout.map((line) => (JSON.parse(line) as Json)['id']));
  await expect.poll(answered, { timeout: 15_000 }).toEqual(new Set([0, 1, 2, 3]));
  program.child.stdin.end();
  expect(await program.exited).toBe(0);
  for (const line of program.stdout) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  const lines = logLines(program);
  for (const line of lines) expectLogLine(line);
  expect(lines.map(({ event }) => event)).toEqual(expect.arrayContaining(['listening', 'session_created', 'stopping']));
});

test('O-1: the log level filters entries', async () => {
  const config = await configFile({ away: { url: 'http://127.0.0.1:1/' } }, { logLevel: 'warn' });
  const program = await startProgram(['stdio', '--config', config]);
  program.child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  await logged(program, 'session_server_connect_failed');
  program.child.stdin.end();
  expect(await program.exited).toBe(0);
  expect(logLines(program).every(({ level }) => level === 'warn' || level === 'error')).toBe(true);

  const silent = await startProgram(['stdio', '--config', config, '--log-level', 'silent']);
  silent.child.stdin.end(`${JSON.stringify(INITIALIZE)}\n`);
  expect(await silent.exited).toBe(0);
  expect(silent.stderr).toEqual([]);
});

test('O-2: health and readiness answer without a token, for any Host header', async () => {
  const config = await configFile({}, { auth: { tokens: { alice: 'a-token-nobody-knows' } } });
  const program = await serveProgram(['--config', config]);
  const { origin } = new URL(program.url);
  for (const headers of [{}, { host: 'pod-10-0-0-1' }]) {
    const health = await send(`${origin}/healthz`, { method: 'GET', headers });
    expect(health).toMatchObject({ status: 200, json: { status: 'ok' } });
    const ready = await send(`${origin}/readyz`, { method: 'GET', headers });
    expect(ready).toMatchObject({ status: 200, json: { status: 'ready' } });
  }
});
