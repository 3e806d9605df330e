import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { httpGateway, temporaryFolder } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { defer } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { resultIn, textOf, type Answered } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS } from '../modern-wire.ts';
import { puppet, TOOL } from './puppet.ts';

const ROUNDS_CALL = { name: TOOL, arguments: { name: 'rounds' } };

test('P-3, D-3, D-4: the end of a task is stored before any client learns of it', async () => {
  const server = await puppet();
  const store = join(await temporaryFolder(), 'store.db');
  const { url, gateway } = await httpGateway({ one: server.config }, { store, direct: { taskAfterMs: 50 } });
  const legacy = await LegacyWire.open(`${url}/one`);
  const modern = new ModernWire(`${url}/one`);
  const rounds = modern.as(ROUNDS);
  const asking = rounds.ask(TOOL, { name: 'rounds' });
  await server.begun('rounds');
  server.ask('rounds', 'Sure?');
  const { requestState, ...round } = await asking;
  const inputResponses = { [onlyQuestion(round).key]: accept({}) };
  const goingOn = rounds.send('tools/call', { ...ROUNDS_CALL, requestState, inputResponses });
  await server.answer('Sure?');
  const { taskId } = await legacy.begin(TOOL, { name: 'legacy' });
  const hub = (state: string, name: string, args: Json): Promise<Answered> =>
    new ModernWire(`${url}?as=${state}`).send('tools/call', { name, arguments: args });
  const slow = { server: 'one', tool: TOOL, args: { name: 'hub' }, timeout_ms: 50 };
  const promoted = String(textOf(resultIn(await hub('one', 'execute_tool', slow))));
  const [, task_id] = /Promoted to task (\S+)\./.exec(promoted) ?? [];
  const ofModern = (await modern.call(TOOL, { name: 'modern' }))['taskId'];
  await Promise.all(['legacy', 'modern', 'hub'].map(async (name) => server.begun(name)));

  const other = new Database(store);
  defer(async () => void other.close());
  // Whoever writes has to wait.
  other.exec('BEGIN IMMEDIATE');
  server.end('legacy');
  server.end('modern');
  server.end('rounds');
  server.end('hub');
  const ended = (): boolean =>
    gateway.sessions.flatMap(({ tasks }) => tasks.list()).every(({ status }) => status === 'completed');
  await soon(ended).toBe(true);
  const told: Json[] = [];
  const asked = [
    legacy.send('tasks/get', { taskId }),
    legacy.send('tasks/list'),
    legacy.send('tasks/result', { taskId }),
    modern.send('tasks/get', { taskId: ofModern }),
    goingOn,
    hub('one', 'get_task_result', { task_id }),
    hub('two', 'get_task', { task_id }),
    hub('two', 'get_task_result', { task_id }),
  ].map(async (answer) => answer.then(({ result }) => result && told.push(result)));
  await legacy.request('tools/list');
  await modern.request('tools/list');
  expect(told).toEqual([]);

  other.exec('COMMIT');
  await Promise.all(asked);
  await modern.task(ofModern, 'completed');
  await soon(async () => (await legacy.request('tasks/get', { taskId }))['status']).toBe('completed');
});
