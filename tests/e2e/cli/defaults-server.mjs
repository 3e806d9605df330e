// A server on stdio whose tool lists an argument as required although it has a default, as generators of schemas do.
import { createInterface } from 'node:readline';

const inputSchema = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    units: { type: 'string', default: 'metric' },
    days: { $ref: '#/$defs/Days' },
    note: { type: 'string', default: 'none' },
  },
  required: ['city', 'units', 'days'],
  $defs: { Days: { type: 'integer', default: 3 } },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = (body) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
  switch (method) {
    case 'initialize':
      return answer({
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'defaults', version: '1' },
        },
      });
    case 'tools/list':
      return answer({ result: { tools: [{ name: 'forecast', inputSchema }] } });
    case 'tools/call': {
      const missing = inputSchema.required.filter((name) => !(name in params.arguments));
      if (missing.length > 0) return answer({ error: { code: -32602, message: `missing: ${missing.join(', ')}` } });
      return answer({ result: { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] } });
    }
    default:
      return answer({ error: { code: -32601, message: 'no' } });
  }
});
