/** Sign-in at a server that the SDK protects, with a real authorization server: nothing but the gateway is ours. */
import { beforeAll, describe, expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOverStdio, taskIdOf, type Json } from '../../support/hub.ts';
import { startAuthorizationServer } from '../authorization-server.ts';
import { bearerServer } from './bearer-server.ts';
import { signInWithForms } from './browser.ts';

const ECHO = { server: 'files', tool: 'echo', args: { text: 'hello' } };

const textIn = (result: Json): unknown => (result['content'] as { text: string }[])[0]?.text;

// To load it takes a while, and to install it takes longer.
beforeAll(async () => {
  await startAuthorizationServer('jwt');
}, 120_000);

describe.each(['http', 'stdio'] as const)('over %s', (transport) => {
  test('A-Q, A-20, A-28: the sign-in is a question, and the call continues after it', async () => {
    const { issuer } = await startAuthorizationServer('jwt', {});
    const server = await bearerServer(issuer);
    const servers = { files: { url: server.url } };
    const hub =
      transport === 'http'
        ? await hubOverHttp((await httpGateway(servers)).url, 'v2')
        : await hubOverStdio(servers, {}, 'v2');
    const reply = await hub.call('execute_tool', ECHO);
    expect(reply.elicitations[0]?.message).toContain('It asks for: mcp:use');
    expect(server.admitted).toEqual([]);
    expect(await signInWithForms(reply.elicitations[0]?.url ?? '')).toContain('You are signed in');
    const result = await hub.call('get_task_result', { task_id: taskIdOf(reply) });
    expect(textIn(result.raw)).toContain('hello');
    expect(server.admitted[0]).toMatchObject({ scopes: ['mcp:use'], resource: new URL(server.url) });
    const refused = server.refused;
    expect((await hub.call('execute_tool', ECHO)).text).toContain('hello');
    expect(server.refused).toBe(refused);
  });
});

test('A-Q, A-32: a server with another audience causes one sign-in, and then the call fails with the reason', async () => {
  const { issuer } = await startAuthorizationServer('jwt', {});
  const server = await bearerServer(issuer, { audience: 'https://another.example.com/mcp' });
  const gateway = await httpGateway({ files: { url: server.url } });
  const hub = await hubOverHttp(gateway.url, 'v2');
  const reply = await hub.call('execute_tool', ECHO);
  expect(await signInWithForms(reply.elicitations[0]?.url ?? '')).toContain('You are signed in');
  const result = await hub.call('get_task_result', { task_id: taskIdOf(reply) });
  expect(result.isError).toBe(true);
  for (const part of ['another audience', 'meanwhile login files']) expect(result.text).toContain(part);
  const next = await hub.call('execute_tool', ECHO);
  expect(next.isError).toBe(true);
  expect(next.elicitations).toEqual([]);
  expect(next.text).toContain('meanwhile login files');
  // A header of their own would not help people who sign in.
  expect(next.text).not.toContain('add a header');
  expect(server.admitted).toEqual([]);
});

test('A-22: a wrong issuer in the metadata of a server leads to no sign-in', async () => {
  const { issuer } = await startAuthorizationServer('jwt', {});
  const named = issuer.replace('127.0.0.1', 'localhost');
  const server = await bearerServer(issuer, { named });
  const hub = await hubOverHttp((await httpGateway({ files: { url: server.url } })).url, 'v2');
  const reply = await hub.call('execute_tool', ECHO);
  expect(reply.isError).toBe(true);
  expect(reply.elicitations).toEqual([]);
  expect(reply.text).toContain(`not of ${named}`);
});
