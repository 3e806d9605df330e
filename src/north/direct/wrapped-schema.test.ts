import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { needsWrapping, wrapped } from './wrapped-schema.ts';

const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema';

/** The schema as the SDK shows it to clients with sessions. */
async function oracle(outputSchema: object): Promise<unknown> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  server.fallbackRequestHandler = async () => ({
    tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema }],
  });
  await server.connect(far);
  const client = new Client({ name: 'test', version: '1' });
  let shown: unknown;
  await client.connect(near);
  const receive = near.onmessage;
  near.onmessage = (message, extra) => {
    shown = (message as { result?: { tools?: { outputSchema: unknown }[] } }).result?.tools?.[0]?.outputSchema;
    receive?.(message, extra);
  };
  await client.request({ method: 'tools/list' }).catch(() => {});
  await client.close();
  return shown;
}

test.each<[string, object]>([
  ['an object', { type: 'object', properties: { a: { $ref: '#' } } }],
  ['a list', { type: 'array', items: { type: 'string' } }],
  ['no type', {}],
  ['its dialect', { $schema: DRAFT_2019, type: 'array' }],
  [
    'references',
    { type: 'array', items: { $ref: '#/$defs/a' }, $defs: { a: { anyOf: [{ $ref: '#' }, { $dynamicRef: '#x' }] } } },
  ],
  [
    'names that look like keywords',
    { type: 'array', items: { properties: { $ref: { type: 'string' }, enum: { $ref: '#' } } } },
  ],
  ['data that looks like references', { type: 'array', items: { const: { $ref: '#' }, enum: [{ $ref: '#' }] } }],
  ['an id of its own', { $id: 'https://example.com/a', type: 'array', items: { $ref: '#' } }],
  ['an inner id', { type: 'array', items: { $id: 'https://example.com/a', not: { $ref: '#' } } }],
  ['an id that is an anchor', { $id: '#a', type: 'array', items: { $ref: '#' } }],
  ['recursion', { $schema: DRAFT_2019, type: 'array', items: { $recursiveRef: '#' } }],
  [
    'recursion beside a reference',
    { $schema: `${DRAFT_2019}#`, type: 'array', items: { $recursiveRef: '#', $ref: '#/a', allOf: [{}] } },
  ],
  [
    'recursion with an anchor',
    { $schema: DRAFT_2019, $recursiveAnchor: true, type: 'array', items: { $recursiveRef: '#' } },
  ],
  ['recursion of another dialect', { type: 'array', items: { $recursiveRef: '#' } }],
])('D-5: a schema with %s is wrapped as in the SDK', async (_what, schema) => {
  expect(needsWrapping(schema) ? wrapped(schema) : schema).toEqual(await oracle(schema));
});
