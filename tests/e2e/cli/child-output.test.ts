/** What a server that is a command prints besides its messages. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { runCommand } from '../../support/command.ts';
import { v1Stdio } from '../../support/servers.ts';
import { programInTerminal } from '../../support/terminal.ts';

/** A server on stdio: `before` runs first, `onList` when its tools are listed. */
async function server({ before = '', onList = '' }): Promise<string> {
  const file = join(await temporaryFolder(), 'server.mjs');
  await writeFile(
    file,
    `import { createInterface } from 'node:readline';
    ${before}
    createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const answer = (body) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
      if (method === 'initialize') {
        const serverInfo = { name: 'test', version: '1' };
        answer({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
      } else if (method === 'ping') answer({ result: {} });
      else if (method === 'tools/list') {
        ${onList}
        answer({ result: { tools: [] } });
      } else answer({ error: { code: -32601, message: 'no' } });
    });`,
  );
  return `${process.execPath} ${file}`;
}

interface Report {
  servers: { ok: boolean; problems: { problem: string; fix?: string; output?: string[] }[] }[];
}

test('C-3: doctor reports a server that writes text to standard output, with the text and a fix', async () => {
  const noisy = await server({
    before: `console.log('Server starting …'); console.log('\\u001B[32mready\\u001B[0m');`,
  });
  const { code, stdout } = await runCommand(['doctor', noisy]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ /m);
  expect(stdout).toContain(
    'problem: it writes text to standard output, which is reserved for messages: "Server starting …"',
  );
  expect(stdout).toContain('and 1 more line');
  expect(stdout).toMatch(/fix: .*standard error/);
  const json = await runCommand(['doctor', noisy, '--json']);
  const { servers } = JSON.parse(json.stdout) as Report;
  expect(servers[0]).toMatchObject({ ok: false, protocolVersion: '2025-11-25' });

  // Logs where they belong are no problem.
  const quiet = await server({ before: `console.error('Server starting …');` });
  expect((await runCommand(['doctor', quiet])).code).toBe(0);
});

test('C-3: doctor shows the last output of a program that exits during the examination', async () => {
  const lines = Array.from({ length: 30 }, (_line, index) => `line ${index}`);
  const dying = await server({
    onList: `console.error(${JSON.stringify(lines.join('\n'))}); console.error('the database is locked'); process.exit(4);`,
  });
  const { code, stdout } = await runCommand(['doctor', dying]);
  expect(code).toBe(1);
  expect(stdout).toContain('its tools cannot be listed: process exited with code 4');
  expect(stdout).toMatch(/ {2}output:\n {4}line 21\n(?: {4}line \d\d\n)+ {4}the database is locked\n {2}fix:/);
  expect(stdout).not.toContain('line 20');
  const { servers } = JSON.parse((await runCommand(['doctor', dying, '--json'])).stdout) as Report;
  expect(servers[0]?.problems[0]?.output?.at(-1)).toBe('the database is locked');
});

test('C-3: doctor shows the last output of a program that exits at its start, once', async () => {
  const brief = await server({ before: `console.error('no API_KEY'); process.exit(3);` });
  const short = await runCommand(['doctor', brief]);
  expect(short.stdout.match(/no API_KEY/g)).toHaveLength(1);
  const long = await server({ before: `throw new TypeError('the shop is closed');` });
  const { stdout } = await runCommand(['doctor', long]);
  expect(stdout).toMatch(/output:\n[\s\S]*throw new TypeError[\s\S]*at file:/);
});

test('C-3: other commands show the last output of a program that exits', async () => {
  const dying = await server({ onList: `console.error('the database is locked'); process.exit(4);` });
  const { code, stderr } = await runCommand(['tools', dying]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/process exited with code 4\nits last output:\n {2}the database is locked$/);
});

test('C-3, X-4: control characters in the output of a program cannot move the cursor', async () => {
  const dying = await server({ onList: String.raw`console.error('\x1b[2J\x1b[Hgone\x9b31m'); process.exit(4);` });
  const terminal = await programInTerminal(['doctor', dying]);
  const { screen } = await terminal.ended();
  expect(screen).toMatch(/examin|✗/);
  expect(screen).toMatch(/^ {4}gone$/m);
});

test('C-3: doctor shows a server under its name in the config file, also with spaces', async () => {
  const config = await configFile({ 'my files': v1Stdio() });
  expect((await runCommand(['doctor', '--config', config])).stdout).toMatch(/^✓ my files {2}/m);
  expect((await runCommand(['doctor', 'my files', '--config', config])).stdout).toMatch(/^✓ my files {2}/m);
});
