import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';

const SERVER = `${process.execPath} ${fileURLToPath(new URL('defaults-server.mjs', import.meta.url))}`;

test('C-3: an omitted required argument is sent with its default', async () => {
  const filled = await runCommand(['call', SERVER, 'forecast', 'city=Oslo']);
  expect(filled).toEqual({ code: 0, stdout: '{"city":"Oslo","units":"metric","days":3}', stderr: '' });
  const given = await runCommand(['call', SERVER, 'forecast', 'city=Oslo', 'days=5', '--args', '{"units":"imperial"}']);
  expect(JSON.parse(given.stdout)).toEqual({ city: 'Oslo', units: 'imperial', days: 5 });
});

test('C-3: the usage of a tool marks only arguments without a default as required', async () => {
  const { code, stderr } = await runCommand(['call', SERVER, 'forecast']);
  expect(code).toBe(2);
  expect(stderr).toContain("'city' is missing");
  expect(stderr).not.toMatch(/'(?:units|days)' is missing/);
  expect(stderr).toContain('forecast city=… [units=…] [days=…] [note=…]');
  expect(stderr.match(/ required/g)).toHaveLength(1);
});
