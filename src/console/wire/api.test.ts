import { afterEach, expect, test, vi } from 'vitest';
import { dropRequests, get, post, whenSignedOut } from './api.ts';

/** Requests that are answered when the test says so. */
function heldRequests(): { answer: (path: string, body: object, status?: number) => void } {
  const waiting = new Map<string, (response: Response) => void>();
  vi.stubGlobal('fetch', async (path: string) => new Promise<Response>((resolve) => waiting.set(path, resolve)));
  return {
    answer: (path, body, status = 200) => waiting.get(path)?.(new Response(JSON.stringify(body), { status })),
  };
}

/** What has become of it after everything that can happen has happened. */
async function outcomeOf(asked: Promise<unknown>): Promise<unknown> {
  const later = new Promise((resolve) => setTimeout(resolve, 20, 'nothing'));
  return Promise.race([asked.catch((error: unknown) => error), later]);
}

afterEach(() => vi.unstubAllGlobals());

test('W-7: a response for one signed-in person does not reach the next person', async () => {
  const { answer } = heldRequests();
  const asked = get('/api/v1/calls');
  dropRequests();
  const askedByNext = get('/api/v1/servers');
  answer('/api/v1/calls', { items: ['of the person before'] });
  answer('/api/v1/servers', { items: ['own'] });
  expect(await outcomeOf(asked)).toBe('nothing');
  expect(await askedByNext).toEqual({ items: ['own'] });
});

test('W-7: a 401 response to a request from before a sign-in does not sign the person out', async () => {
  const { answer } = heldRequests();
  const signedOut = vi.fn();
  whenSignedOut(signedOut);
  const asked = get('/api/v1/calls');
  const signingIn = post('/console/sign-in', { key: 'x' });
  answer('/console/sign-in', { pageKey: 'of the next person' });
  await signingIn;
  answer('/api/v1/calls', { error: { code: 'not_signed_in', message: 'not signed in' } }, 401);
  expect(await outcomeOf(asked)).toBe('nothing');
  expect(signedOut).not.toHaveBeenCalled();
  const again = get('/api/v1/calls');
  answer('/api/v1/calls', { error: { code: 'not_signed_in', message: 'not signed in' } }, 401);
  expect(await outcomeOf(again)).toMatchObject({ status: 401 });
  expect(signedOut).toHaveBeenCalledOnce();
});
