import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { AmendedServer } from './amended-server.ts';

class Amended extends AmendedServer {
  protected override amend(introduction: Record<string, unknown>): Record<string, unknown> {
    return { ...introduction, 'x-vendor': { a: [1] } };
  }
}

test('D-5: the result of `initialize` can be amended with fields that the SDK does not know', async () => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Amended({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  await server.connect(far);
  const answers: unknown[] = [];
  const client = new Client({ name: 'test', version: '1' });
  const connected = client.connect(near);
  const deliver = near.onmessage;
  near.onmessage = (message, extra) => {
    answers.push(message);
    deliver?.(message, extra);
  };
  await connected;
  expect(answers[0]).toMatchObject({ result: { capabilities: { tools: {} }, 'x-vendor': { a: [1] } } });
  await client.close();
});
