import { expect, test } from 'vitest';
import { linkFix } from './linked.ts';

test('L-1: the suggested link command has the flags of the existing entry', () => {
  const args = ['/gone/cli.js', 'stdio', '--all', '--config', '/a b.json'];
  expect(linkFix('codex', { command: process.execPath, args })).toBe(
    "Node or Meanwhile has moved: link it again: meanwhile link codex --all --config '/a b.json'",
  );
  expect(linkFix('claude-code', { command: '/gone/node', args: ['/gone/cli.js', 'stdio'] })).toContain(
    'meanwhile link claude-code --hub',
  );
  const config = { url: 'http://u:secret@h:1/mcp', headers: { Authorization: 'Bearer secret' } };
  expect(linkFix('gemini', config)).toBe(
    'start the gateway with meanwhile serve, or link it again: ' +
      "meanwhile link gemini --url http://h:1/mcp --header 'Authorization: …'",
  );
});

test('L-1: linking again is not suggested if the linked program exists', () => {
  expect(linkFix('codex', { command: process.execPath, args: [process.execPath, 'stdio'] })).toBeUndefined();
});
