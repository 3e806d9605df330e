/** The demo from the console, and the removal of servers that were added. */
import { expect, test } from 'vitest';
import { atConsole, codeOf, withToken } from '../../support/console.ts';
import { startHttp, type HttpGateway } from '../../../src/main.ts';
import { createLog } from '../../../src/lib/log.ts';
import { httpGateway, testConfig, type SettingsInput } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';
import { ANN, BOB, PEOPLE, servers } from './setup.ts';

/** As the program starts itself. */
const DEMO = { command: process.execPath, args: [QUICK_PROGRAM, 'demo-server'] };

async function gatewayWithDemo(
  given: Record<string, { url: string }>,
  settings: SettingsInput = {},
): Promise<HttpGateway> {
  const config = await testConfig(given, { allowServerChanges: false, ...settings });
  return owned(await startHttp({ ...config, demo: DEMO }, createLog('silent')));
}

test('W-8: the demo is started from an empty page, asks a question and is removed', async () => {
  const gateway = await gatewayWithDemo({});
  const person = await atConsole(gateway);
  expect((await person.get('/me')).body).toMatchObject({ demo: true });
  const events = await person.events();
  const begun = await person.post('/demo');
  expect([begun.status, begun.body]).toMatchObject([202, { server: 'demo', tool: 'book_table', view: 'console' }]);
  const question = await events.next('question', (each) => each['callId'] === begun.body['id']);
  await events.next('call', (each) => each['tool'] === 'slow_report' && each['progress'] !== undefined);
  const content = { confirm: true, seating: 'bar' };
  const answered = await person.post(`/questions/${String(question['id'])}/answer`, { action: 'accept', content });
  expect(answered.status, answered.text).toBe(200);
  await events.next('call', (each) => each['id'] === begun.body['id'] && each['status'] === 'completed');
  // Once more, with the server that is there.
  expect((await person.post('/demo')).status).toBe(202);
  expect(await person.items('/servers')).toMatchObject([{ name: 'demo', addedBy: 'client' }]);
  expect((await person.post('/servers/demo/remove')).body).toEqual({ name: 'demo', gone: true });
  expect(await person.items('/servers')).toEqual([]);
  expect((await person.post('/servers/demo/remove')).status).toBe(404);
});

test('W-8: the demo leaves another server named demo unchanged', async () => {
  const { v1 } = await servers();
  const gateway = await gatewayWithDemo({ demo: { url: v1.url } });
  const person = withToken(gateway, gateway.console.key);
  expect((await person.post('/demo')).body).toMatchObject({ server: 'meanwhile-demo' });
  const kept = await person.post('/servers/demo/remove');
  expect([kept.status, codeOf(kept)]).toEqual([403, 'not_allowed']);
});

test('W-7: only principals that may add servers start the demo, and only owners remove their servers', async () => {
  const { v1 } = await servers();
  const settings = { ...PEOPLE, addServers: ['ann'], addServerAddresses: 'any' as const };
  const gateway = await gatewayWithDemo({}, settings);
  const hub = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${ANN}` });
  await hub.call('add_server', { name: 'hers', url: v1.url });
  const bob = withToken(gateway, BOB);
  expect((await bob.get('/me')).body).toMatchObject({ demo: false });
  const refused = await bob.post('/demo');
  expect([refused.status, codeOf(refused)]).toEqual([403, 'not_allowed']);
  expect((await bob.post('/servers/hers/remove')).status).toBe(404);
  const ann = withToken(gateway, ANN);
  expect((await ann.post('/servers/hers/remove')).status).toBe(200);
});

test('W-8: a gateway without a demo refuses it with a hint to meanwhile demo', async () => {
  const gateway = await httpGateway({});
  const person = withToken(gateway, gateway.console.key);
  expect((await person.get('/me')).body).toMatchObject({ demo: false });
  const refused = await person.post('/demo');
  expect([refused.status, codeOf(refused)]).toEqual([409, 'no_demo']);
  expect(refused.text).toContain('meanwhile demo');
});
