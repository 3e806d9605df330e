import { expect, test } from 'vitest';
import { redactCommand, redactUrl } from './redact.ts';

test('X-4: credentials, query values and fragments of a URL are hidden', () => {
  const shown = redactUrl('https://user:secret@example.org/mcp?token=abc&x=1#frag');
  expect(shown).toBe('https://example.org/mcp?token=***&x=***');
});

test.each([
  ['https://mcp.example.com/api/s/NjY1ZTMyYWYtNGE2Zi00/mcp', 'https://mcp.example.com/api/s/***/mcp'],
  ['https://x.example/3c5d0f1a-1b2c-4d5e-8f90-a1b2c3d4e5f6/sse', 'https://x.example/***/sse'],
  ['https://x.example/mcp/sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'https://x.example/mcp/***'],
  ['https://x.example/hooks/aaaaaaaaaaaaaaaaaaaaaaaaa', 'https://x.example/hooks/***'],
  ['https://x.example/webhooks/123456789012345678/send', 'https://x.example/webhooks/***/send'],
  ['https://x.example/token/short/mcp', 'https://x.example/token/***/mcp'],
  ['https://x.example/apikey/abc', 'https://x.example/apikey/***'],
])('X-4: a secret in the path is hidden: %s', (url, shown) => {
  expect(redactUrl(url)).toBe(shown);
});

test.each([
  'https://x.example/mcp',
  'https://x.example/v1/organizations/weather/mcp',
  'https://x.example/@author/server-sequential-thinking/mcp',
  'https://x.example/model-context-protocol-2025-11-25',
  'http://127.0.0.1:8080/mcp/my%20server',
])('X-4: names in the path are shown: %s', (url) => {
  expect(redactUrl(url)).toBe(url);
});

test('X-4: text that is not a URL is not repeated', () => {
  expect(redactUrl('secret')).toBe('(not a url)');
});

test.each([
  [
    ['-y', '@modelcontextprotocol/server-filesystem', '/home/ann/files'],
    '-y @modelcontextprotocol/server-filesystem /home/ann/files',
  ],
  [['--api-key', 'short', '--verbose'], '--api-key *** --verbose'],
  [['--token=abc', '--port=8080'], '--token=*** --port=8080'],
  [['sk_live_4eC39HqLyjWDarjtT1zdp7dc'], '***'],
  [['https://ann:pass@x.example/mcp?key=1'], 'https://x.example/mcp?key=***'],
])('X-4: secrets in the arguments of a command are hidden: %j', (args, shown) => {
  expect(redactCommand('npx', args)).toBe(`npx ${shown}`);
});
