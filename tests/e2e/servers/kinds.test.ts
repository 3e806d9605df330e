import { expect, test } from 'vitest';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import { startSse2024 } from '../../servers/sse2024.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { clientOf } from '../client/clients.ts';
import { echo, statusOf } from './activity.ts';

interface Kind {
  name: string;
  start: () => Promise<ServerConfig>;
  speaks: string;
  asks: boolean;
}

const http = async (starting: Promise<{ url: string; close(): Promise<void> }>): Promise<ServerConfig> => ({
  url: owned(await starting).url,
});

const OLD = '2025-11-25';
const NEW = '2026-07-28';

const KINDS: Kind[] = [
  { name: 'Streamable HTTP, legacy', start: () => http(startV1Http()), speaks: OLD, asks: true },
  // Without sessions an answer has no way back to the call that asked.
  {
    name: 'Streamable HTTP without sessions',
    start: () => http(startV1Http({ sessions: false })),
    speaks: OLD,
    asks: false,
  },
  { name: 'Streamable HTTP, both eras', start: () => http(startV2Http()), speaks: NEW, asks: true },
  {
    name: 'Streamable HTTP, modern only',
    start: () => http(startV2Http({ era: 'modern' })),
    speaks: NEW,
    asks: true,
  },
  { name: 'HTTP+SSE of 2024', start: () => http(startSse2024()), speaks: OLD, asks: true },
  { name: 'stdio, legacy', start: async () => v1Stdio(), speaks: OLD, asks: true },
  { name: 'stdio, both eras', start: async () => v2Stdio(), speaks: NEW, asks: true },
  { name: 'stdio, modern only', start: async () => v2Stdio({ TEST_MODERN_ONLY: '1' }), speaks: NEW, asks: true },
];

test.each(KINDS)('B-1: a server that is $name can be called through the hub', async ({ start, speaks, asks }) => {
  const { url } = await httpGateway({ one: await start() });
  const hub = await hubOverHttp(url);
  expect(await echo(hub, 'one', 'through')).toBe('through');
  expect(await statusOf(hub, 'one')).toMatchObject({ status: 'connected', protocolVersion: speaks });
  const { body } = await hub.call('list_tools', { server: 'one', pattern: 'ask*' });
  expect(body['tools']).toContainEqual(expect.objectContaining({ server: 'one', name: 'ask_twice' }));
  if (!asks) return;

  const asking = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
  const [question] = asking.elicitations;
  expect(question).toMatchObject({ server: 'one', message: 'What is your name?', taskId: taskIdOf(asking) });
  await hub.call('respond_to_elicitation', {
    request_id: question?.requestId,
    action: 'accept',
    content: { name: 'Ada' },
  });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(asking) })).text).toBe('Hello Ada');
});

test.each(KINDS)(
  'D-5: the initialize result of a server that is $name has its name and capabilities',
  async ({ start }) => {
    const { traits, capabilities, implementation, initializeResult } = await clientOf(await start()).client.connect();
    expect(initializeResult).toMatchObject({ capabilities });
    const named = traits.sessions ? initializeResult : (initializeResult?.['_meta'] as object);
    expect(Object.values(named ?? {})).toContainEqual(implementation);
    expect(initializeResult).not.toHaveProperty('resultType');
  },
);
