import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { programInTerminal, shellInTerminal } from '../../support/terminal.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';

const TAKEN_BACK = 'withdrew its question';

test('C-3: a form that ends with a terminated program is not reported as withdrawn', async () => {
  const { url } = owned(await startV1Http());
  const pid = join(await temporaryFolder(), 'pid');
  const program = `sh -c 'echo $$ > ${pid}; exec ${process.execPath} ${QUICK_PROGRAM} call ${url} ask'`;
  const terminal = await shellInTerminal(program);
  await terminal.shows('● Answer');
  process.kill(Number(await readFile(pid, 'utf8')), 'SIGTERM');
  const { code, screen } = await terminal.ended();
  expect(screen).not.toContain(TAKEN_BACK);
  expect(screen).toContain('terminated');
  expect(code).toBe(130);
});

test('C-3: a form that times out is not reported as withdrawn', async () => {
  const { url } = owned(await startV1Http());
  const terminal = await programInTerminal(['call', url, 'ask', '--timeout', '6s']);
  await terminal.shows('● Answer');
  const { code, screen } = await terminal.ended();
  expect(screen).not.toContain(TAKEN_BACK);
  expect(screen).toContain('timed out after 6s');
  expect(code).toBe(5);
});
