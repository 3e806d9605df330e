import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, httpGateway } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { INITIALIZE, post } from '../../support/raw-http.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';

test('D-5: an address with /mcp at its end also reaches the server', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  for (const address of [`${url}/one`, `${url}/one/mcp`]) {
    expect((await post(address, INITIALIZE)).text).toContain('v1-test-server');
  }
});

test('D-5: a server name with spaces is percent-encoded in its address', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ 'My Server': { url: server.url } });
  for (const address of [`${url}/My%20Server`, `${url}/My%20Server/mcp`]) {
    expect((await post(address, INITIALIZE)).text).toContain('v1-test-server');
  }
});

test('D-5, S-4: over stdio the gateway answers a request although the client closes the stream right after it', async () => {
  const server = owned(await startV1Http());
  const config = await configFile({ one: { url: server.url } });
  const child = spawn(process.execPath, [QUICK_PROGRAM, 'stdio', '--server', 'one', '--config', config], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const said = text(child.stdout);
  child.stdin.end(`${JSON.stringify(INITIALIZE)}\n`);
  expect(JSON.parse(await said)).toMatchObject({ id: 0, result: { serverInfo: { name: 'v1-test-server' } } });
});
