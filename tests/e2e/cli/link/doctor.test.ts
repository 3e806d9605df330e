import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realFile } from '../../../support/client-files.ts';
import { newHome } from '../../../support/client-home.ts';

test('L-1: doctor checks the entry of each linked client and gives a fix for a broken one', async () => {
  const { run, write, read, home } = await newHome();
  await writeFile(join(home, 'meanwhile.json'), '{"mcpServers": {}, "meanwhile": {"store": ":memory:"}}');
  for (const client of ['claude-code', 'codex', 'cursor', 'zed'] as const) await write(client, realFile(client));
  expect((await run('link', '--yes')).code).toBe(0);
  // The second has another path by now, the third a broken file, the fourth no entry.
  await write('codex', (await read('codex')).replace('args = ["/', 'args = ["/gone/'));
  await write('cursor', `${await read('cursor')}}`);
  await write('zed', realFile('zed'));
  const { code, stdout } = await run('doctor');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✓ Claude Code \(linked\) {2}command, protocol .*, meanwhile \d/m);
  expect(stdout).toMatch(
    /^✗ Codex \(linked\)\n {2}problem: [^]*?\n {2}fix: .*moved: link it again: meanwhile link codex --hub --config \S+$/m,
  );
  expect(stdout).toMatch(/^✗ Cursor \(linked\)\n {2}problem: .*not valid JSON/m);
  expect(stdout).toMatch(
    /^✗ Zed \(linked\)\n {2}problem: its file no longer has an entry for Meanwhile.*\n {2}fix: link it again/m,
  );

  await run('unlink', 'codex', 'zed', '--yes');
  await run('link', 'gemini', '--url', 'http://127.0.0.1:1', '--yes');
  const json = JSON.parse((await run('doctor', '--json')).stdout) as { servers: unknown[] };
  expect(json.servers).toMatchObject([
    { server: 'Claude Code (linked)', linkedIn: 'claude-code', ok: true },
    { linkedIn: 'gemini', ok: false, problems: [{ fix: expect.stringContaining('meanwhile serve') as string }] },
    { linkedIn: 'cursor', ok: false },
  ]);
});
