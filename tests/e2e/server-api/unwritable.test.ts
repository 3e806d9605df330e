import { expect, test } from 'vitest';
import { createTaskServer } from '../../../src/server/index.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { LegacyWire, modern } from './wire.ts';

function loop(): Json {
  const value: Json = { content: [] };
  value['itself'] = value;
  return value;
}

const RESULTS: Record<string, { given: () => Json; says: string }> = {
  'has a BigInt': { given: () => ({ content: [], structuredContent: { n: 10n } }), says: 'BigInt' },
  'contains itself': { given: loop, says: 'circular' },
};

test.each(Object.entries(RESULTS))(
  'D-1: a result that %s and cannot be written as JSON is reported to the client',
  async (_what, { given, says }) => {
    const tools = { tool: { run: async () => given() as { content: [] } } };
    const url = await owned(createTaskServer({ name: 'app', version: '1.0.0', tools })).listen();
    const sorry = { isError: true, content: [{ type: 'text', text: expect.stringContaining(says) as string }] };
    const params = { name: 'tool', arguments: {} };
    expect(await (await LegacyWire.open(url)).request('tools/call', params)).toMatchObject(sorry);
    expect(await modern(url, 'tools/call', params)).toMatchObject(sorry);
  },
);
