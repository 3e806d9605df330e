import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { v1Stdio } from '../../support/servers.ts';

const ODD = `node ${fileURLToPath(new URL('odd-server.mjs', import.meta.url))}`;

test('C-3, X-4: tools, resources and prompts accept malformed list entries', async () => {
  const tools = await runCommand(['tools', ODD]);
  expect(tools).toMatchObject({ code: 0, stderr: '' });
  expect(tools.stdout).toMatch(/^odd/);
  expect(await runCommand(['tools', ODD, 'odd'])).toMatchObject({ code: 0, stderr: '' });
  expect(await runCommand(['resources', ODD])).toMatchObject({ code: 0, stdout: '7', stderr: '' });
  expect(await runCommand(['resources', ODD, '7'])).toMatchObject({ code: 0, stdout: '[0 bytes]', stderr: '' });
  expect(await runCommand(['prompts', ODD, 'odd'])).toMatchObject({ code: 0, stdout: '7: ', stderr: '' });
  expect(await runCommand(['prompts', ODD])).toMatchObject({ code: 0, stdout: 'odd  [3=…]', stderr: '' });
});

test('C-3, X-4: call accepts a malformed tool result', async () => {
  const { code, stdout, stderr } = await runCommand(['call', ODD, 'odd', 'any=thing']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.trim()).toBe('→');
  expect((await runCommand(['call', ODD, 'odd', '--json'])).stdout).toContain('"resource_link"');
});

test('C-3: doctor reports malformed tools', async () => {
  const { code, stdout } = await runCommand(['doctor', ODD]);
  expect(code).toBe(1);
  expect(stdout).toContain('3 of its tools have no name');
  expect(stdout).toContain("the input schema of 'odd' is not of the type object");
  expect(stdout).toContain('odd 1');
});

test('C-3: a server that crashes during a call is reported as lost', async () => {
  const { command, args } = v1Stdio();
  const { code, stdout, stderr } = await runCommand(['call', `${command} ${args[0]}`, 'crash', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'lost' } });
  expect(stderr).toMatch(/^meanwhile: lost the connection to \S.*: /);
});
