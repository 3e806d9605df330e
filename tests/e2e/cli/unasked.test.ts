import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/gateway.ts';
import { runCommand } from '../../support/command.ts';

/** Asks the client for something before it reads a resource, and says what it heard. */
const ASKING = `
let ask;
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, error, result } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'asking', version: '1' };
    say({ id, result: { protocolVersion: '2025-11-25', capabilities: { resources: {} }, serverInfo } });
  } else if (method === 'resources/read') {
    ask = id;
    const requestedSchema = { type: 'object', properties: {} };
    say({ id: 'q', method: 'elicitation/create', params: { message: 'May I?', requestedSchema } });
  } else if (id === 'q') {
    say({ id: ask, result: { contents: [{ uri: 'x:y', text: JSON.stringify(error ?? result) }] } });
  } else if (id !== undefined) say({ id, error: { code: -32601, message: 'no' } });
});
`;

test('C-3: a command that cannot ask cancels a question of the server, and continues', async () => {
  const file = join(await temporaryFolder(), 'asking.cjs');
  await writeFile(file, ASKING);
  const { code, stdout } = await runCommand(['resources', `${process.execPath} ${file}`, 'x:y']);
  expect(stdout).toContain('{"action":"cancel"}');
  expect(code).toBe(0);
});

test('C-3: the error of a failed command does not show its secrets', async () => {
  const file = join(await temporaryFolder(), 'asking.cjs');
  await writeFile(file, ASKING);
  const server = `KEY=hunter2 ${process.execPath} ${file} --token hunter3`;
  const { code, stderr } = await runCommand(['call', server, 'nothing']);
  expect(code).not.toBe(0);
  expect(stderr).not.toMatch(/hunter/);
});
