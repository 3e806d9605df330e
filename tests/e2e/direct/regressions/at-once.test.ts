import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { v1Stdio } from '../../../support/servers.ts';
import { textOf } from '../answered.ts';

const MEETINGS = 10;
const FIRST = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve'];
const LATER = ['Finn', 'Gus', 'Hal', 'Ida', 'Jo'];
const NAMES = [...FIRST, ...LATER];

/** All call at once; with each that is answered, and ends, another one begins to ask. */
async function meet(client: Client): Promise<{ said: unknown[]; asked: string[] }> {
  const begin = async (name: string): Promise<unknown> =>
    textOf(await client.callTool({ name: 'ask', arguments: { message: `${name}?` } }));
  const asked: string[] = [];
  const said: Promise<unknown>[] = [];
  const answered = new Promise<void>((resolve) => {
    client.setRequestHandler(ElicitRequestSchema, ({ params: { message } }) => {
      const later = LATER[asked.length];
      asked.push(message);
      if (later !== undefined) said.push(begin(later));
      if (asked.length === NAMES.length) resolve();
      return { action: 'accept', content: { name: message.slice(0, -1) } };
    });
  });
  said.push(...FIRST.map(begin));
  await answered;
  return { said: await Promise.all(said), asked };
}

test('D-2: each of several parallel calls is asked once, although the server does not name the call of a question', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const capabilities = { elicitation: { form: {} } };
  const client = owned(new Client({ name: 'test', version: '1.0.0' }, { capabilities }));
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/one`)));
  for (let meeting = 0; meeting < MEETINGS; meeting += 1) {
    const { said, asked } = await meet(client);
    expect(said).toEqual(NAMES.map((name) => `Hello ${name}`));
    expect(asked.toSorted()).toEqual(NAMES.map((name) => `${name}?`));
  }
});
