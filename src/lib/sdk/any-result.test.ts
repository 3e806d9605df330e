import { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { scriptedServer } from '../../../tests/support/scripted-server.ts';
import { ANY_RESULT } from './any-result.ts';

test.each(['legacy', 'modern'] as const)('D-5: fields that the SDK does not know stay in a %s result', async (era) => {
  const result = {
    resultType: 'complete',
    content: [{ type: 'text', text: 'x', 'x-vendor': 1 }],
    'x-vendor': { a: [] },
  };
  const { transport } = await scriptedServer(era, () => ({ result }));
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  expect(client.getProtocolEra()).toBe(era);
  const { resultType: _resultType, ...known } = result;
  expect(await client.request({ method: 'tools/call', params: { name: 'x' } }, ANY_RESULT)).toMatchObject(known);
  await client.close();
});
