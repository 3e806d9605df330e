import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';

test('C-3: doctor examines a dozen servers without a warning', async () => {
  const { url } = owned(await startV1Http());
  const { code, stdout, stderr } = await runCommand(['doctor', ...Array.from({ length: 12 }, () => url)]);
  expect(stderr).toBe('');
  expect(stdout.match(/\b\d+ tools/g)).toHaveLength(12);
  expect(code).toBe(0);
});
