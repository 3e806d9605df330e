import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';

test('C-3: tools lists the tools, one per line or as JSON', async () => {
  for (const start of [startV1Http, startV2Http]) {
    const { url } = owned(await start());
    const { code, stdout, stderr } = await runCommand(['tools', url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^echo +Returns the text it was given$/m);
    const { tools } = JSON.parse((await runCommand(['tools', url, '--json'])).stdout) as { tools: { name: string }[] };
    expect(tools.length).toBe(stdout.split('\n').length);
  }
});

test('C-3: tools marks the tools that run as tasks', async () => {
  const { url } = owned(await startTasksV1Http());
  const { stdout } = await runCommand(['tools', url]);
  expect(stdout).toMatch(/^required +task +Cannot be called without a task$/m);
  expect(stdout).toMatch(/^slow +task\? +Ends after/m);
  expect(stdout).toMatch(/^echo {2,}Returns the text/m);
});

test('C-3: tools shows one tool with its usage and schemas', async () => {
  const { url } = owned(await startV1Http());
  const { code, stdout } = await runCommand(['tools', url, 'rich', 'slow']);
  expect(code).toBe(0);
  for (const part of [
    'rich: Everything at once',
    'output schema: {',
    `usage: meanwhile call ${url} slow ms=… [text=…] [steps=…]`,
    'input schema: {',
  ]) {
    expect(stdout).toContain(part);
  }
  const { stdout: json } = await runCommand(['tools', url, 'echo', '--json']);
  expect(JSON.parse(json)).toMatchObject({ name: 'echo', annotations: { readOnlyHint: true } });
  const unknown = await runCommand(['tools', url, 'ech']);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("did you mean 'echo'?");
});

test('C-3: resources lists resources and templates, and reads them', async () => {
  const { url } = owned(await startV1Http());
  const listed = await runCommand(['resources', url]);
  expect(listed.code).toBe(0);
  expect(listed.stdout).toMatch(/^test:\/\/watched +text\/plain +Can be subscribed to$/m);
  expect(listed.stdout).toMatch(/^test:\/\/item\/\{id\} +template +text\/plain +An item$/m);
  const json = JSON.parse((await runCommand(['resources', url, '--json'])).stdout) as Record<string, unknown[]>;
  expect([json['resources']?.length, json['resourceTemplates']?.length]).toEqual([5, 1]);

  expect(await runCommand(['resources', url, 'test://text', 'test://item/7'])).toMatchObject({
    code: 0,
    stdout: 'hello\nitem 7',
  });
  const one = await runCommand(['resources', url, 'test://meta', '--json']);
  expect(JSON.parse(one.stdout)).toEqual({
    contents: [{ uri: 'test://meta', text: 'meta', _meta: { 'vendor.example/contents': 1 } }],
  });
  const blob = await runCommand(['resources', url, 'test://blob']);
  expect(blob.stdout).toBe('[test://blob, application/octet-stream, 4 bytes]');
  const out = await temporaryFolder();
  await runCommand(['resources', url, 'test://blob', '--out', out]);
  expect([...(await readFile(join(out, 'resource-1.bin')))]).toEqual([0, 1, 2, 255]);
  const missing = await runCommand(['resources', url, 'test://nowhere', '--json']);
  expect(missing.code).toBe(1);
  expect(JSON.parse(missing.stdout)).toMatchObject({ error: { code: 'server_error', rpcCode: -32002 } });
});

test('C-3: prompts lists prompts with their arguments, and gets one', async () => {
  const { url } = owned(await startV1Http());
  const listed = await runCommand(['prompts', url]);
  expect(listed.stdout).toMatch(/^greet +who=… \[tone=…\] +Greets somebody$/m);
  expect(await runCommand(['prompts', url, 'greet', 'who=Ada', 'tone=loud'])).toMatchObject({
    code: 0,
    stdout: 'user: Greet Ada in a loud tone.',
  });
  const json = await runCommand(['prompts', url, 'plain', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ messages: [{ role: 'user' }] });
  const wrong = await runCommand(['prompts', url, 'greet', 'wo=Ada']);
  expect(wrong.code).toBe(2);
  for (const part of ["there is no argument 'wo'", "'who' is missing", 'greet who=… [tone=…]', 'Whom to greet']) {
    expect(wrong.stderr).toContain(part);
  }
  const unknown = await runCommand(['prompts', url, 'gret']);
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("has no prompt 'gret'; did you mean 'greet'?");
});

test('C-3: a server without resources or prompts is not an error', async () => {
  const { url } = owned(await startTasksV1Http());
  for (const what of ['resources', 'prompts']) {
    const { code, stdout, stderr } = await runCommand([what, url]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain(`has no ${what}`);
  }
});

test.each(['tools', 'resources', 'prompts', 'tasks', 'doctor', 'call'])('C-3: %s has its own help', async (command) => {
  const { code, stdout, stderr } = await runCommand([command, '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Usage: meanwhile ${command}`);
  for (const part of ['a name in the config file', 'a command in quotes', '--json', '--header']) {
    expect(stdout).toContain(part);
  }
  if (command === 'doctor') return;
  expect(stdout).toContain('Exit codes');
  const without = await runCommand([command]);
  expect(without.code).toBe(2);
  expect(without.stderr).toContain(`see meanwhile ${command} --help`);
});
