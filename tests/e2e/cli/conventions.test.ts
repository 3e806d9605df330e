/** What people expect of any program for a terminal. */
import { expect, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { programInTerminal } from '../../support/terminal.ts';

const hasColours = (text: string): boolean =>
  text.split('\u001B[').some((part, index) => index > 0 && /^[\d;]*[1-9][\d;]*m/.test(part));
const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/;

test('L-3: -V prints the version, with and without a command', async () => {
  const expected = { code: 0, stdout: packageJson.version, stderr: '' };
  expect(await runCommand(['-V'])).toEqual(expected);
  expect(await runCommand(['call', '-V'])).toEqual(expected);
  expect(await runCommand(['serve', '-V'])).toEqual(expected);
});

test('C-3: --no-color, NO_COLOR and TERM=dumb turn colours off on a terminal', async () => {
  const { url } = owned(await startV1Http());
  const listed = async (args: string[], prefix = ''): Promise<string> => {
    const terminal = await programInTerminal(['tools', url, ...args], { prefix });
    expect((await terminal.ended()).code).toBe(0);
    return terminal.output();
  };
  expect(hasColours(await listed([]))).toBe(true);
  expect(hasColours(await listed(['--no-color']))).toBe(false);
  expect(hasColours(await listed(['--no-color'], 'FORCE_COLOR=1'))).toBe(false);
  expect(hasColours(await listed([], 'NO_COLOR=1'))).toBe(false);
  expect(hasColours(await listed([], 'NO_COLOR='))).toBe(true);
  expect(hasColours(await listed([], 'FORCE_COLOR=0'))).toBe(false);
  expect(hasColours(await listed([], 'TERM=dumb'))).toBe(false);
}, 40_000);

test('C-3: FORCE_COLOR colours piped output, but never JSON', async () => {
  const { url } = owned(await startV1Http());
  const forced = { env: { FORCE_COLOR: '1' } };
  expect(hasColours((await runCommand(['tools', url])).stdout)).toBe(false);
  expect(hasColours((await runCommand(['tools', url], forced)).stdout)).toBe(true);
  expect(hasColours((await runCommand(['tools', url, '--json'], forced)).stdout)).toBe(false);
  expect(hasColours((await runCommand(['tools', url, '--no-color'], forced)).stdout)).toBe(false);
});

test.each([
  ['tools', ['tools']],
  ['doctor', ['doctor']],
])('C-3: --no-color is accepted before the command too: %s', async (_name, [command = '']) => {
  const { url } = owned(await startV1Http());
  expect((await runCommand(['--no-color', command, url])).code).toBe(0);
});

test('C-3: a dumb terminal shows no spinner, and questions print a hint to --answer instead of a form', async () => {
  const { url } = owned(await startV1Http());
  const working = await programInTerminal(['call', url, 'slow', 'ms=2000', 'steps=3'], { prefix: 'TERM=dumb' });
  const seen: string[] = [];
  await vi.waitFor(
    async () => {
      seen.push(working.screen());
      expect(seen.at(-1)).toContain('[exit 0]');
    },
    { timeout: 15_000, interval: 50 },
  );
  expect(seen.join('\n')).not.toMatch(SPINNER);
  const asked = await programInTerminal(['call', url, 'ask'], { prefix: 'TERM=dumb' });
  const end = await asked.ended();
  expect(end.code).toBe(6);
  expect(end.screen).toContain(`--answer '{"name":"…"}'`);
});

test('C-3: a terminal that reports 0 columns is treated as 80 columns wide', async () => {
  const { url } = owned(await startV1Http());
  const prefix = 'stty cols 0 rows 0;';
  const listed = await programInTerminal(['tools', url], { prefix });
  const { code, screen } = await listed.ended();
  expect(code).toBe(0);
  expect(screen).toMatch(/^echo +Returns the text it was given$/m);

  const examined = await programInTerminal(['doctor', url], { prefix });
  expect((await examined.ended()).screen).toMatch(/capabilities: \S+, \S+/);

  const asked = await programInTerminal(['call', url, 'ask'], { prefix });
  await asked.shows('● Answer');
  asked.press('Enter');
  await asked.shows('◆  Name');
  asked.type('Ada');
  asked.press('Enter');
  expect((await asked.ended()).screen).toContain('Hello Ada');
});
