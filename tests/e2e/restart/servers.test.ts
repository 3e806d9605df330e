import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { rawSession, type RawSession } from '../../support/raw-http.ts';
import { killable, restart } from './killable.ts';

async function names(session: RawSession): Promise<string[]> {
  const { body } = await session.reply('list_servers');
  return (body['servers'] as Json[]).map(({ name }) => String(name)).toSorted();
}

test('P-1, P-3, S-3: after kill -9 servers added at run time are configured, and removed ones are not', async () => {
  const [one, two, three] = [owned(await startV1Http()), owned(await startV1Http()), owned(await startV1Http())];
  const gateway = await killable({ one: { url: one.url } });
  const session = await rawSession(gateway.url);
  await session.reply('add_server', { name: 'two', url: two.url });
  await session.reply('add_server', { name: 'three', url: three.url });
  await restart(gateway);
  expect(await names(session)).toEqual(['one', 'three', 'two']);
  const { text } = await session.reply('execute_tool', { server: 'two', tool: 'echo', args: { text: 'back' } });
  expect(text).toBe('back');
  await session.reply('remove_server', { name: 'three' });
  await restart(gateway);
  expect(await names(session)).toEqual(['one', 'two']);
});
