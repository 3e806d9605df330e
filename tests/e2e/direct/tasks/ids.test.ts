import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The last 16 characters are the random part; a sequence would share nearly all of them. */
function expectUnguessable(ids: readonly string[]): void {
  for (const id of ids) expect(id).toMatch(ULID);
  const secrets = ids.map((id) => id.slice(10));
  expect(new Set(secrets.map((secret) => secret.slice(0, 4))).size).toBeGreaterThan(ids.length - 5);
}

test('T-6, D-3, D-4: ids of tasks and sessions cannot be guessed from one another', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: 1 } });
  const some = Array.from({ length: 20 });
  const legacy = await LegacyWire.open(`${url}/one`);
  const modern = new ModernWire(`${url}/one`);
  const begun = await Promise.all(some.map(() => legacy.begin('slow', { ms: 600_000 })));
  expectUnguessable(begun.map(({ taskId }) => taskId));
  const offered = await Promise.all(some.map(() => modern.call('slow', { ms: 600_000 })));
  expectUnguessable(offered.map(({ taskId }) => String(taskId)));
  const sessions = await Promise.all(some.map(() => LegacyWire.open(`${url}/one`)));
  expectUnguessable(sessions.map(({ sessionId }) => sessionId));
});
