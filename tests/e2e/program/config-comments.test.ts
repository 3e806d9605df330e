import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/gateway.ts';
import { runCommand } from '../../support/command.ts';
import { v1Stdio } from '../../support/servers.ts';

test('C-3, B-1: a config file may have comments and trailing commas', async () => {
  const cwd = await temporaryFolder();
  const { command, args } = v1Stdio();
  await writeFile(
    join(cwd, 'mcp.json'),
    `// moved here from an editor
    {
      "mcpServers": {
        "fine": { "command": ${JSON.stringify(command)}, "args": ${JSON.stringify(args)}, }, /* works */
        // "old": { "url": "https://x//y" },
        "off": { "url": "http://127.0.0.1:1/mcp", "disabled": true },
      },
    }`,
  );
  const { code, stdout } = await runCommand(['doctor', '--config', 'mcp.json'], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain('✓ fine');
  expect(stdout).toContain('- off  disabled in the config file');
});

test.each([
  ['{"topic": "tea",}', "--args: not valid JSON at character 16: a comma before '}': remove it"],
  ['{"topic": "tea"} // why', '--args: not valid JSON at character 18: a comment, which JSON does not have: remove it'],
])('C-3, X-4: --args must be plain JSON, and the error names the violation: %s', async (text, message) => {
  const { code, stderr } = await runCommand(['call', 'demo', 'slow_report', '--args', text]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('C-3: a whole command line in "command" is an error that shows the fix', async () => {
  const cwd = await temporaryFolder();
  const entry = { command: 'node -y some-server --token hunter2' };
  await writeFile(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: { a: entry } }));
  for (const commandName of ['serve', 'stdio', 'doctor']) {
    const { code, stderr, stdout } = await runCommand([commandName, '--config', 'mcp.json'], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      'mcp.json: mcpServers.a.command: only the program belongs here; its arguments belong in "args": ' +
        '"command": "node", "args": ["-y", "some-server", …]',
    );
    expect(stderr).not.toContain('hunter2');
  }
});

test('C-3: doctor shows the split of a command line in "command" for a missing program', async () => {
  const cwd = await temporaryFolder();
  const entry = { command: 'no-such-program -y some-server' };
  await writeFile(join(cwd, 'mcp.json'), JSON.stringify({ mcpServers: { a: entry } }));
  const { code, stdout } = await runCommand(['doctor', '--config', 'mcp.json'], { cwd });
  expect(code).toBe(1);
  expect(stdout).toMatch(/fix: only the program goes .*"command": "no-such-program", "args": \["-y", "some-server"\]/);
});
