import { expect, test } from 'vitest';
import { INITIALIZE, post, send } from '../../../support/raw-http.ts';
import { answeredIn } from '../answered.ts';
import { ModernWire } from '../modern-wire.ts';
import { behind } from './behind.ts';

test.each(['nobody', 'ONE', '%6Fther', '__proto__', 'constructor', 'a b', '%F0%9F%A6%8A', '%', 'x'.repeat(5000)])(
  'D-2, H-12: an endpoint of a server that is not there names those that are: %s',
  async (name) => {
    const { running } = await behind();
    const at = `${running.url}/${name.replaceAll(' ', '%20')}`;
    const legacy = await post(at, INITIALIZE);
    expect(legacy.status).toBe(404);
    expect(answeredIn(legacy).error).toMatchObject({ message: expect.stringContaining('known: ext, one') });
    const modern = await new ModernWire(at).send('tools/list');
    expect(modern).toMatchObject({ status: 404, error: { message: expect.stringContaining('known: ext, one') } });
    const got = await send(at, { method: 'GET', headers: { accept: 'text/event-stream' } });
    expect(got.status).toBe(404);
    expect(running.gateway.sessions).toEqual([]);
  },
);

test.each(['/', '/one/', '/one/two', '//one'])('D-2, X-4: nothing is at /mcp%s', async (path) => {
  const { running } = await behind();
  const { status, json } = await post(`${running.url}${path}`, INITIALIZE);
  expect(status).toBe(404);
  expect(json['error']).toMatchObject({ message: expect.stringContaining('/mcp/<its name>') });
});

test('D-2: a name may be written as URLs are', async () => {
  const { running } = await behind();
  expect((await post(`${running.url}/%6F%6E%65`, INITIALIZE)).status).toBe(200);
  expect((await post(`${running.url}/one?x=1`, INITIALIZE)).status).toBe(200);
});
