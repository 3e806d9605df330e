import { expect, test } from 'vitest';
import { startRichHttp } from '../../../servers/rich-http.ts';
import { configFile } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { QUICK_PROGRAM } from '../../../support/servers.ts';
import { soon } from '../../flows/watch.ts';
import { connect, type WireClient } from '../same/wire-client.ts';

const UPDATED = 'notifications/resources/updated';

async function behind(): Promise<{ client: WireClient; told: (method: string) => number }> {
  const server = owned(await startRichHttp('modern'));
  const config = await configFile({ one: { url: server.url } }, { logLevel: 'silent' });
  const args = [QUICK_PROGRAM, 'stdio', '--server', 'one', '--config', config];
  const client = owned(await connect('modern', { command: process.execPath, args, env: {} }));
  await client.hello();
  return { client, told: (method) => client.said.filter(({ message }) => message['method'] === method).length };
}

test('D-4, D-5: over stdio a subscription that is cancelled while it starts reports nothing', async () => {
  const { client, told } = await behind();
  await client.listen(7, { resourceSubscriptions: ['rich://text'] });
  await client.hangUp();
  // Another one, so that there is something to wait for.
  await client.listen(8, { toolsListChanged: true });
  await soon(() => told('notifications/subscriptions/acknowledged')).toBeGreaterThan(0);
  await client.request('first', 'tools/call', { name: 'change', arguments: { what: ['rich://text', 'tools'] } });
  await soon(() => told('notifications/tools/list_changed')).toBeGreaterThan(0);
  expect(told(UPDATED)).toBe(0);
});

test('D-4, X-4: the id of a cancelled subscription can be used again', async () => {
  const { client, told } = await behind();
  await client.listen(7, { toolsListChanged: true });
  await soon(() => told('notifications/subscriptions/acknowledged')).toBe(1);
  await client.hangUp();
  await client.listen(7, { toolsListChanged: true });
  await soon(() => told('notifications/subscriptions/acknowledged')).toBe(2);
});
