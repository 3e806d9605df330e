import { chmod, lstat, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLIENT_NAMES } from '../../../../src/cli/link/names.ts';
import { NOT_UNDERSTOOD, realFile, SAMPLES } from '../../../support/client-files.ts';
import { newHome } from '../../../support/client-home.ts';
import { configFile } from '../../../support/gateway.ts';
import { QUICK_PROGRAM } from '../../../support/servers.ts';
import { programInTerminal } from '../../../support/terminal.ts';

/** The files below a folder, without those of Meanwhile. */
async function filesIn(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true });
  return all.filter((name) => !name.startsWith('.local')).toSorted();
}

test('L-1: link and then unlink leave the file of every client unchanged, byte for byte', async () => {
  const kinds = [...new Set(SAMPLES.map(({ what }) => what))];
  for (const what of kinds) {
    const { run, write, read, home } = await newHome();
    const samples = SAMPLES.filter((sample) => sample.what === what);
    for (const { client, text } of samples) await write(client, text);
    const before = await filesIn(home);
    const names = samples.map(({ client }) => client);
    const linked = await run('link', ...names, '--yes');
    expect(linked.code, linked.stderr).toBe(0);
    for (const { client, text } of samples) expect(await read(client), `${client}, ${what}`).not.toBe(text);
    expect((await run('unlink', '--yes')).code).toBe(0);
    for (const { client, text } of samples) expect(await read(client), `${client}, ${what}`).toBe(text);
    expect(await filesIn(home)).toEqual(before);
  }
});

test('L-1: files and folders that link makes are private, and unlink removes them', async () => {
  const { run, home, fileOf, entryOf } = await newHome();
  const { code } = await run('link', ...CLIENT_NAMES, '--yes');
  expect(code).toBe(0);
  for (const client of CLIENT_NAMES) {
    expect(await entryOf(client)).toBeDefined();
    expect((await stat(fileOf(client))).mode & 0o777).toBe(0o600);
  }
  expect((await run('unlink', '--yes')).code).toBe(0);
  expect(await filesIn(home)).toEqual([]);
});

test('L-1: without names, link links the clients found on the machine, each at the endpoint that suits it', async () => {
  const { run, write, entryOf, home } = await newHome();
  const none = await run('link', '--yes');
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('no MCP client was found') as string });
  for (const client of ['claude-code', 'gemini'] as const) await write(client, realFile(client));
  const config = await configFile({});
  const { code, stdout } = await run('link', '--yes', '--config', config);
  expect(code).toBe(0);
  expect(stdout).toMatch(/✓ Claude Code is linked: .*\n✓ Gemini CLI is linked/);
  const cli = [QUICK_PROGRAM, 'stdio'];
  expect(await entryOf('claude-code')).toMatchObject({ type: 'stdio', args: [...cli, '--all', '--config', config] });
  expect(await entryOf('gemini')).toMatchObject({ args: [...cli, '--config', config] });
  expect((await filesIn(home)).filter((name) => name.includes('.tmp'))).toEqual([]);

  const again = await run('link', '--yes', '--config', config);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toMatch(/^Claude Code .*: already linked\nGemini CLI .*: already linked$/);

  const other = await run('link', 'claude', '--hub', '--yes', '--config', config);
  expect(other.stdout).toMatch(/^ *- +"--all",$/m);
  expect(await entryOf('claude-code')).toMatchObject({ args: [...cli, '--config', config] });
  // Linked twice, undone at once.
  expect((await run('unlink', 'claude-code', '--yes')).code).toBe(0);
  expect(await entryOf('claude-code')).toBeUndefined();
});

test('L-1: link --url links a running gateway by its address and does not print secrets', async () => {
  const { run, write, entryOf } = await newHome();
  await write('cursor', realFile('cursor'));
  const token = ['--header', 'Authorization: Bearer top-secret'];
  const { code, stdout, stderr } = await run(
    'link',
    'claude-code',
    'cursor',
    'codex',
    'claude-desktop',
    '--url',
    'http://127.0.0.1:8080',
    ...token,
    '--yes',
  );
  expect(code).toBe(1);
  expect(stderr).toContain('Claude Desktop is not linked');
  expect(stderr).toContain('it can only start programs; link it without --url');
  const headers = { Authorization: 'Bearer top-secret' };
  expect(await entryOf('claude-code')).toEqual({ type: 'http', url: 'http://127.0.0.1:8080/mcp/all', headers });
  expect(await entryOf('cursor')).toEqual({ url: 'http://127.0.0.1:8080/mcp', headers });
  expect(await entryOf('codex')).toEqual({ url: 'http://127.0.0.1:8080/mcp', http_headers: headers });
  expect(stdout).toContain('"url": "http://127.0.0.1:8080/mcp"');
  expect(stdout).toContain('"Authorization": "***"');
  expect(stdout).not.toMatch(/top-secret|sk-cursor/);
  expect((await run('unlink', '--yes')).stdout).not.toMatch(/top-secret|sk-cursor/);
});

test('L-1: without a terminal and --yes, link changes nothing', async () => {
  const { run, write, read } = await newHome();
  await write('cursor', realFile('cursor'));
  const { code, stdout, stderr } = await run('link');
  expect(code).toBe(6);
  expect(stdout).toMatch(/^ *\+ +"meanwhile": \{$/m);
  expect(stderr).toContain(
    'nothing was changed: there is no terminal for the confirmation; --yes makes this change without asking',
  );
  expect(await read('cursor')).toBe(realFile('cursor'));
});

test('L-1: on a terminal, link makes the change only after confirmation', async () => {
  const { home, write, read } = await newHome();
  await write('cursor', realFile('cursor'));
  const refused = await programInTerminal(['link', 'cursor'], { env: { HOME: home }, cwd: home });
  await refused.shows('Make this change?');
  refused.press('Down', 'Enter');
  expect((await refused.ended()).code).toBe(4);
  expect(await read('cursor')).toBe(realFile('cursor'));
  const agreed = await programInTerminal(['link', 'cursor'], { env: { HOME: home }, cwd: home });
  await agreed.shows('Make this change?');
  agreed.press('Enter');
  expect((await agreed.ended()).code).toBe(0);
  expect(await read('cursor')).toContain('"meanwhile"');
});

test('L-1: unlink removes only the entry from a file that was changed after link', async () => {
  const { run, write, read, home } = await newHome();
  for (const client of CLIENT_NAMES) await write(client, realFile(client));
  await run('link', '--yes');
  const add = (text: string): string =>
    text.replace(/^\{$|^model = .*$/m, (line) => (line === '{' ? '{\n  "added": 1,' : `${line}\nadded = 1`));
  for (const client of CLIENT_NAMES) await write(client, add(await read(client)));
  const { code, stdout } = await run('unlink', '--yes');
  expect(code).toBe(0);
  expect(stdout.match(/backup: /g)).toHaveLength(CLIENT_NAMES.length);
  for (const client of CLIENT_NAMES) expect(await read(client), client).toBe(add(realFile(client)));
  expect((await readdir(join(home, '.local/share/meanwhile/backups'))).length).toBeGreaterThan(0);
  expect((await run('unlink')).stdout).toBe('no client is linked');
});

test('L-1: one unlink removes the entry of a file that was linked twice and changed in between', async () => {
  const { run, write, read } = await newHome();
  await write('claude-code', realFile('claude-code'));
  await run('link', 'claude-code', '--yes');
  await write('claude-code', (await read('claude-code')).replace('184', '185'));
  await run('link', 'claude-code', '--hub', '--yes');
  expect((await run('unlink', '--yes')).code).toBe(0);
  expect(await read('claude-code')).toBe(realFile('claude-code').replace('184', '185'));
});

test('L-1: unlink removes a file that link created, also after its client rewrote it', async () => {
  const { run, write, read, home } = await newHome();
  await run('link', 'cursor', 'codex', '--yes');
  await write('cursor', JSON.stringify(JSON.parse(await read('cursor'))));
  await write('codex', `${await read('codex')}\n`);
  expect((await run('unlink', '--yes')).code).toBe(0);
  expect(await filesIn(home)).toEqual([]);
});

test('L-1: linking again keeps fields that were added to the entry', async () => {
  const { run, write, read, entryOf } = await newHome();
  await run('link', 'codex', 'gemini', '--yes');
  await write('codex', `${await read('codex')}startup_timeout_sec = 20\n`);
  await write('gemini', (await read('gemini')).replace('"command"', '"trust": true,\n"command"'));
  expect((await run('link', 'codex', 'gemini', '--yes')).stdout.match(/already linked/g)).toHaveLength(2);
  expect((await run('link', 'codex', 'gemini', '--all', '--yes')).code).toBe(0);
  expect(await entryOf('codex')).toMatchObject({ args: [QUICK_PROGRAM, 'stdio', '--all'], startup_timeout_sec: 20 });
  expect(await entryOf('gemini')).toMatchObject({ args: [QUICK_PROGRAM, 'stdio', '--all'], trust: true });
});

test('L-1: a failed link is not recorded, and a link whose file is missing stays recorded', async () => {
  const { run, write, fileOf } = await newHome();
  await chmod(await write('cursor', realFile('cursor')), 0o444);
  const { code, stderr } = await run('link', 'cursor', '--yes');
  expect(code).toBe(1);
  expect(stderr).toContain(`it cannot be written: it is read-only; chmod u+w ${fileOf('cursor')} makes it writable`);
  expect(stderr).not.toContain('meanwhile doctor');
  expect((await run('unlink')).stdout).toBe('no client is linked');

  await run('link', 'zed', '--yes');
  await rename(fileOf('zed'), `${fileOf('zed')}.away`);
  const kept = await run('unlink', '--yes');
  expect(kept).toMatchObject({ code: 0, stdout: '' });
  expect(kept.stderr).toContain('meanwhile unlink zed removes the record of the link');
  await rename(`${fileOf('zed')}.away`, fileOf('zed'));
  expect((await run('unlink', '--yes')).stdout).toContain('✓ Zed is no longer linked');
});

test('L-1: unlink restores an entry of the same name from before', async () => {
  const { run, write, read, entryOf } = await newHome();
  const own = { command: 'node', args: ['/my/own/cli.js'] };
  const text = JSON.stringify({ mcpServers: { meanwhile: own } }, undefined, 4);
  await write('cursor', text);
  await run('link', 'cursor', '--yes');
  expect(await entryOf('cursor')).not.toEqual(own);
  // The file is no longer as link left it.
  await write('cursor', `${await read('cursor')}\n`);
  await run('unlink', '--yes');
  expect(await entryOf('cursor')).toEqual(own);
});

test('L-1: unlink removes a handwritten entry only if its client is named', async () => {
  const { run, write, read, entryOf } = await newHome();
  const text = '{"mcpServers":{"meanwhile":{"command":"mine"}}}';
  await write('cursor', text);
  expect((await run('unlink', '--yes')).stdout).toBe('no client is linked');
  expect(await read('cursor')).toBe(text);
  expect((await run('unlink', 'cursor', 'zed', '--yes')).stdout).toMatch(/^Zed {2}is not linked\n/);
  expect(await entryOf('cursor')).toBeUndefined();
});

test('L-1: link and unlink keep symbolic links and file permissions', async () => {
  const { run, write, home, fileOf } = await newHome();
  const file = await write('zed', realFile('zed'));
  const dotfile = join(home, 'dotfiles.json');
  await rename(file, dotfile);
  await symlink(dotfile, file);
  await chmod(dotfile, 0o640);
  for (const command of ['link', 'unlink']) {
    expect((await run(command, 'zed', '--yes')).code).toBe(0);
    expect((await lstat(fileOf('zed'))).isSymbolicLink()).toBe(true);
    expect((await stat(dotfile)).mode & 0o777).toBe(0o640);
  }
  expect(await readFile(dotfile, 'utf8')).toBe(realFile('zed'));
});

test('L-1: link leaves a file that it cannot parse unchanged, reports it and links the other clients', async () => {
  for (const { client, text, problem } of NOT_UNDERSTOOD) {
    const { run, write, read, entryOf, fileOf } = await newHome();
    await write(client, text);
    const { code, stderr } = await run('link', client, 'windsurf', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain(`is not linked: ${fileOf(client)}: `);
    expect(stderr).toContain(problem);
    expect(await read(client)).toBe(text);
    expect(await entryOf('windsurf')).toBeDefined();
  }
  const { run, fileOf, write } = await newHome();
  await write('cursor', '');
  await writeFile(fileOf('cursor'), Buffer.from([0xff, 0xfe, 0x7b, 0x00]));
  expect((await run('link', 'cursor', '--yes')).stderr).toContain('it is not UTF-8 text');
});

test.each([
  [['notepad'], "no client 'notepad'"],
  [['cursr'], "did you mean 'cursor'?"],
  [['cursor', '--all', '--hub'], '--all and --hub exclude each other'],
  [['cursor', '--header', 'A: b'], '--header needs --url'],
  [['cursor', '--url', 'localhost:8080'], '--url: '],
  [['cursor', '--config', 'nowhere.json'], 'nowhere.json: there is no such file'],
])('L-1: link %j is refused', async (args, message) => {
  const { run, home } = await newHome();
  const { code, stderr } = await run('link', ...args, '--yes');
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(await filesIn(home)).toEqual([]);
});
