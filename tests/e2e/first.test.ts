import { expect, test } from 'vitest';
import { startV1Http } from '../servers/v1-http.ts';
import { httpGateway } from '../support/gateway.ts';
import { hubOverHttp, hubOverStdio, taskIdOf, type ClientKind } from '../support/hub.ts';
import { owned } from '../support/owned.ts';

const KINDS: ClientKind[] = ['v1', 'v2', 'modern'];

test.each(KINDS)('a slow call becomes a task over http (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, kind);
  const promoted = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 300, text: 'x' },
    timeout_ms: 50,
  });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result.text).toContain('x');
});

test.each(KINDS)('a slow call becomes a task over stdio (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const hub = await hubOverStdio({ one: { url: server.url } }, {}, kind);
  const promoted = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 300, text: 'x' },
    timeout_ms: 50,
  });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result.text).toContain('x');
});
