import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createTaskController, createTaskServer } from '../../../src/server/index.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';

const APP = { name: 'app', version: '1.0.0', tools: { order: { run: () => 'done' } } };

const errorOf = async (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => expect.fail('there was no error'),
    (error: unknown) => error as Error,
  );

test('D-1, P-1: the error for a store in use names the option of the library', async () => {
  const store = join(await temporaryFolder(), 'shop.db');
  owned(await createTaskController({ store }));
  const error = await errorOf(owned(createTaskServer({ ...APP, store })).listen());
  expect(error.message).toBe(
    `${store}: another meanwhile (process ${process.pid}) is using this store; stop it, or use another \`store\``,
  );
  expect(error.message).not.toContain('--');
  expect(inspect(error)).not.toContain('[cause]');
});

test('D-1: the error for a port in use names the option of the library', async () => {
  const { port } = new URL(await owned(createTaskServer(APP)).listen());
  const error = await errorOf(owned(createTaskServer(APP)).listen({ port: Number(port) }));
  expect(error.message).toBe(`port ${port} on 127.0.0.1 is in use; choose another \`port\` (0 selects any free port)`);
  expect(inspect(error)).not.toContain('EADDRINUSE: address');
});
