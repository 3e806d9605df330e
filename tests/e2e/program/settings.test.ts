import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { logLines, serveProgram } from '../../support/program.ts';
import { freePort } from '../../support/port-to-return-to.ts';

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

test('O-1: serve logs its address in one JSON line', async () => {
  const config = await configFile({});
  const program = await serveProgram(['--config', config]);
  const lines = logLines(program).filter(({ event }) => event === 'listening');
  expect(lines).toEqual([
    {
      level: 'info',
      event: 'listening',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/) },
    },
  ]);
  const hub = await hubOverHttp(program.url);
  expect((await hub.call('list_servers')).body).toEqual({ servers: [] });
});

test('O-1: a flag overrides the environment, which overrides the file: port and host', async () => {
  const [inFile, inEnv, inFlag] = [await freePort(), await freePort(), await freePort()];
  const config = await configFile({}, { port: inFile, host: 'localhost' });
  const env = { MEANWHILE_PORT: String(inEnv), MEANWHILE_HOST: '127.0.0.2' };
  const addresses = await Promise.all([
    serveProgram(['--config', config]).then(({ url }) => url),
    serveProgram(['--config', config], { env }).then(({ url }) => url),
    serveProgram(['--config', config, '--port', String(inFlag), '--host', '127.0.0.3'], { env }).then(({ url }) => url),
  ]);
  expect(new URL(addresses[0] ?? '').port).toBe(String(inFile));
  expect(addresses.slice(1)).toEqual([`http://127.0.0.2:${inEnv}/mcp`, `http://127.0.0.3:${inFlag}/mcp`]);
});

test('P-1: a flag overrides the environment, which overrides the file: store', async () => {
  const folder = await temporaryFolder();
  const [file, env, flag] = ['file.db', 'env.db', 'flag.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const config = await configFile({}, { store: file });
  const variables = { MEANWHILE_STORE: env, MEANWHILE_CONFIG: config };
  const found = async (): Promise<boolean[]> => [await exists(file), await exists(env), await exists(flag)];

  await serveProgram(['--store', flag], { env: variables });
  expect(await found()).toEqual([false, false, true]);
  await serveProgram([], { env: variables });
  expect(await found()).toEqual([false, true, true]);
  await serveProgram(['--config', config]);
  expect(await found()).toEqual([true, true, true]);
});

test('P-1: by default the store is in the data folder of the user, with mode 600', async () => {
  const home = await temporaryFolder();
  await serveProgram(['--port', '0'], { env: { HOME: home, XDG_DATA_HOME: join(home, 'data') } });
  const { mode } = await stat(join(home, 'data', 'meanwhile', 'meanwhile.db'));
  expect((mode & 0o777).toString(8)).toBe('600');
});

test('O-1: a flag overrides the environment, which overrides the file: log level', async () => {
  const { url } = owned(await startV1Http());
  const config = await configFile({ echo: { url } }, { logLevel: 'silent' });
  const levels = async (args: string[], env: Record<string, string>): Promise<Set<string>> => {
    const program = await serveProgram(['--config', config, ...args], { env });
    const hub = await hubOverHttp(program.url);
    // A call is logged at the level debug, the start of the program at info.
    await hub.call('execute_tool', { server: 'echo', tool: 'echo', args: { text: 'hello' } });
    await expect(hub.request('nope')).rejects.toThrow('Method not found');
    await program.stop();
    return new Set(logLines(program).map(({ level }) => level));
  };
  expect(await levels(['--log-level', 'debug'], { MEANWHILE_LOG_LEVEL: 'silent' })).toContain('debug');
  expect(await levels(['--log-level', 'info'], { MEANWHILE_LOG_LEVEL: 'debug' })).toEqual(new Set(['info']));
  expect(await levels([], { MEANWHILE_LOG_LEVEL: 'info' })).toEqual(new Set(['info']));
});

test('B-1: environment variables in the config file are replaced', async () => {
  const config = await configFile({ there: { url: 'http://127.0.0.1:1/${WHERE}' } });
  const program = await serveProgram(['--config', config], { env: { WHERE: 'here' } });
  const hub = await hubOverHttp(program.url);
  const { body } = await hub.call('list_servers');
  expect((body['servers'] as Json[])[0]).toMatchObject({ name: 'there', url: 'http://127.0.0.1:1/here' });
});
