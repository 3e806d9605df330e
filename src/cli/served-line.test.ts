import { expect, test } from 'vitest';
import { loadConfig } from '../config/load.ts';
import type { ServerConfig } from '../core/ports.ts';
import { VERSION } from '../lib/version.ts';
import type { ProgramConfig } from './config.ts';
import { servedLine } from './served-line.ts';

async function line(
  more: Partial<ProgramConfig>,
  store = '/home/ann/.local/share/meanwhile/meanwhile.db',
): Promise<string> {
  const config = await loadConfig({ flags: { store }, env: {}, cwd: '/' });
  return servedLine({ ...config, ...more }, 'http://127.0.0.1:8080/mcp', '/project', '/home/ann');
}

const servers = (...names: string[]): Map<string, ServerConfig> =>
  new Map(names.map((name) => [name, { command: 'x' }]));

test('O-1: the line for people has the address, the servers, the config file and the store', async () => {
  expect(await line({ servers: servers('files', 'memory'), file: '/project/sub/meanwhile.json' })).toBe(
    `meanwhile ${VERSION} at http://127.0.0.1:8080/mcp; servers: files, memory (each also at /mcp/NAME); ` +
      'config sub/meanwhile.json; store ~/.local/share/meanwhile/meanwhile.db; Ctrl-C stops',
  );
});

test('O-1: the line says what there is not, and shows in full what is elsewhere', async () => {
  expect(await line({ servers: servers('demo') }, ':memory:')).toContain(
    'servers: demo (also at /mcp/demo); no config file: give yours with --config FILE; store :memory:; ',
  );
  expect(await line({ file: '/etc/m.json' }, '/data/m\u001B[2J.db')).toContain(
    '; no servers; config /etc/m.json; store /data/m.db; ',
  );
});
