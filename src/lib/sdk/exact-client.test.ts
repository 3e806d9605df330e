import { InMemoryTransport, ProtocolError } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { ANY_RESULT } from './any-result.ts';
import { ExactClient, exactly } from './exact-client.ts';

/** A server that answers everything but `initialize` with the error that is asked for. */
async function connected(): Promise<ExactClient> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  far.onmessage = (message) => {
    if (!('method' in message) || !('id' in message)) return;
    const { id, method, params } = message;
    const about = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'terse', version: '1' } };
    const reply = method === 'initialize' ? { result: about } : { error: params?.['error'] };
    void far.send({ jsonrpc: '2.0', id, ...reply } as Parameters<typeof far.send>[0]);
  };
  await far.start();
  const client = new ExactClient({ name: 'test', version: '1.0.0' });
  await client.connect(near);
  return client;
}

test.each([
  [-32002, { uri: 'a:b', 'x-vendor': [1, null] }],
  [-32602, { uri: 'a:b' }],
  [-32042, { elicitations: [], reason: 'why' }],
  [-32022, { supported: [], requested: 'x', hint: 1 }],
  [-32021, { requiredCapabilities: {}, hint: 1 }],
  [-32000, ['list']],
  [-32000, null],
  [-32000, 'text'],
  [-1, undefined],
])('B-6, D-5: the error %j with %j comes as the server sent it', async (code, data) => {
  const client = await connected();
  const error = { code, message: 'as it is', ...(data !== undefined && { data }) };
  const thrown: unknown = await exactly(client.request({ method: 'x', params: { error } }, ANY_RESULT)).catch(
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(ProtocolError);
  expect(thrown).toMatchObject({ code, message: 'as it is' });
  expect((thrown as ProtocolError).data).toEqual(data);
  await client.close();
});
