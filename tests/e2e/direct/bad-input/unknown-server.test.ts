import { expect, test } from 'vitest';
import { INITIALIZE, post, send } from '../../../support/raw-http.ts';
import { answeredIn } from '../answered.ts';
import { ModernWire } from '../modern-wire.ts';
import { behind } from './behind.ts';

test.each(['nobody', 'ONE', '%6Fther', '__proto__', 'constructor', 'a b', '%F0%9F%A6%8A', '%', 'x'.repeat(5000)])(
  'D-2, H-12: the endpoint of an unknown server answers with the names of the known ones: %s',
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

test.each(['/', '/one/', '/one/two', '//one'])(
  'D-2, X-4: the path /mcp%s is not found, and the error describes the right form',
  async (path) => {
    const { running } = await behind();
    const { status, json } = await post(`${running.url}${path}`, INITIALIZE);
    expect(status).toBe(404);
    expect(json['error']).toMatchObject({ message: expect.stringContaining('/mcp/<its name>') });
  },
);

test('D-2: a server name in a URL may be percent-encoded and followed by a query', async () => {
  const { running } = await behind();
  expect((await post(`${running.url}/%6F%6E%65`, INITIALIZE)).status).toBe(200);
  expect((await post(`${running.url}/one?x=1`, INITIALIZE)).status).toBe(200);
});
