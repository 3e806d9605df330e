import { describe, expect, test } from 'vitest';
import { nameForm } from '../../servers/shared/forms.ts';
import type { HubClient } from '../../support/hub.ts';
import { send } from '../../support/raw-http.ts';
import { create, elicitation, scene, WAYS, type Scene } from './driver.ts';

const NOT_ANSWERED = -1;

const ENDINGS: Record<string, (scene: Scene) => Promise<unknown>> = {
  'the client ends its session': async ({ url, hub }) => {
    const headers = { 'mcp-session-id': hub.sessionId() ?? '', 'mcp-protocol-version': '2025-11-25' };
    expect((await send(url, { method: 'DELETE', headers })).status).toBe(200);
  },
  'its server is removed': async ({ hub }) => hub.call('remove_server', { name: 'one' }),
  'the gateway stops': async ({ gateway }) => gateway.close(),
};

/** How a request of the server ends; it must not be the end of the connection that tells. */
async function failure(request: Promise<unknown>): Promise<unknown> {
  return request.then(
    () => 'it was answered',
    (error: unknown) => error,
  );
}

async function opened(hub: HubClient): Promise<void> {
  await elicitation(hub);
}

describe.each(Object.keys(ENDINGS))('S-4: open requests of a server when %s', (ending) => {
  const end = async (current: Scene): Promise<unknown> => ENDINGS[ending]?.(current);

  test.each(WAYS)('S-4, R-9: a question that belongs to no call gets an error first (%s)', async (way) => {
    const current = await scene(way, { allowServerChanges: true });
    const asked = failure(current.driven.request('elicitation/create', { ...nameForm() }));
    await opened(current.hub);
    await end(current);
    expect(await asked).toMatchObject({ code: NOT_ANSWERED, message: expect.stringContaining('not answered') });
  });

  test.each(WAYS)('S-4, R-9: a tasks/result request gets an error first (%s)', async (way) => {
    const current = await scene(way, { allowServerChanges: true });
    const { taskId } = await create(current.driven);
    await opened(current.hub);
    const result = failure(current.driven.request('tasks/result', { taskId }));
    // Requests arrive in order, so this one tells that the other is there.
    await current.driven.request('tasks/get', { taskId });
    await end(current);
    expect(await result).toMatchObject({ code: NOT_ANSWERED });
  });
});
