// A server on stdio that answers everything, and nearly everything wrongly.
import { createInterface } from 'node:readline';

const LISTS = {
  'tools/list': { tools: [null, 7, { name: 5 }, { name: 'odd', inputSchema: null, description: { a: 1 } }] },
  'resources/list': { resources: [null, { uri: 7 }] },
  'resources/templates/list': { resourceTemplates: 'none' },
  'resources/read': { contents: [null, { uri: 1, blob: 2 }] },
  'prompts/list': { prompts: [null, { name: 'odd', arguments: [null, { name: 3 }] }] },
  'prompts/get': { messages: [null, { role: 7, content: null }] },
  'tools/call': { content: [null, 'text', { type: 'text' }, { type: 'resource_link', uri: {} }] },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = (body) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
  if (method === 'initialize') {
    const capabilities = { tools: {}, resources: {}, prompts: {} };
    const serverInfo = { name: 'odd\u001B[2J', version: '1' };
    answer({ result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
  } else if (method === 'ping') answer({ result: {} });
  else if (method in LISTS) answer({ result: LISTS[method] });
  else answer({ error: { code: -32601, message: 'no' } });
});
