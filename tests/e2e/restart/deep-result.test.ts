import { expect, test, vi } from 'vitest';
import { rawSession } from '../../support/raw-http.ts';
import { deepServer } from '../robust/deep-server.ts';
import { begin, killable, restart, stateOf } from './killable.ts';

test('P-2, X-4: a task whose result is nested too deeply has the same outcome before and after a kill', async () => {
  const deep = await deepServer();
  const gateway = await killable({ deep: { url: deep.url } });
  const session = await rawSession(gateway.url);
  const { id } = await begin(session, 'deep', 'result', { wait: true });
  deep.release();
  const before = await vi.waitFor(
    async () => {
      const state = await stateOf(session, id);
      expect(state.status).not.toBe('working');
      return state;
    },
    { timeout: 10_000 },
  );
  await restart(gateway);
  expect(await stateOf(session, id)).toEqual(before);
  expect(before).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('nested more than 1000 levels deep') },
  });
});
