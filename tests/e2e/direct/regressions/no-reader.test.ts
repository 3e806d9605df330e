import { request, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { defer } from '../../../support/owned.ts';
import { legacy, programByHand, text, toolNamed, type Asker } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS } from '../modern-wire.ts';

/** More than is kept for a client that does not read, and than fits between two sockets. */
const LINES = 60;
const LINE = 'x'.repeat(1024 * 1024);

/** Sends a request and reads of the answer what comes first, but nothing more. */
async function postAndStare(
  url: string,
  { message, headers }: ReturnType<(LegacyWire | ModernWire)['raw']>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (response: IncomingMessage) => {
      response.on('error', () => {
        // It is cut off.
      });
      response.once('data', (chunk: Buffer) => {
        response.pause();
        resolve(chunk.toString());
      });
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(message));
    defer(async () => void sent.destroy());
  });
}

async function talkative() {
  let asker: Asker | undefined;
  const script = legacy(
    {
      'tools/list': (caller) => caller.reply({ tools: [toolNamed('work', 'forbidden')] }),
      'tools/call': (caller) => void (asker = caller),
      'logging/setLevel': (caller) => caller.reply({}),
    },
    { tasks: undefined, logging: {} },
  );
  const { config } = await programByHand(script);
  const log = { method: 'notifications/message', params: { level: 'info', data: LINE } };
  const talk = (): void => {
    for (let line = 0; line < LINES; line += 1) asker?.say(log);
  };
  return { ...(await httpGateway({ one: config })), called: () => asker, talk };
}

test('X-3, E-5: a client that does not read is disconnected, and can resume the stream for the result', async () => {
  const { url, gateway, called, talk } = await talkative();
  const wire = await LegacyWire.open(`${url}/one`);
  const begun = await postAndStare(`${url}/one`, wire.raw('tools/call', { name: 'work', arguments: {} }));
  const lastEventId = /^id: (.*)$/m.exec(begun)?.[1];
  talk();
  await soon(() => gateway.sessions[0]?.tasks.list()).toMatchObject([{ status: 'working', abandoned: true }]);

  const rest = await wire.listen(lastEventId);
  called()?.reply(text('the result'));
  expect(textOf(await rest.result())).toBe('the result');
});

test('X-3, T-4: a modern client that does not read is disconnected, and gets the result by repeating the call', async () => {
  const { url, gateway, called, talk } = await talkative();
  const wire = new ModernWire(`${url}/one`, { capabilities: ROUNDS });
  const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
  const staring = postAndStare(`${url}/one`, wire.raw('tools/call', { name: 'work', arguments: {}, _meta }));
  await soon(called).toBeDefined();
  talk();
  await staring;
  await soon(() => gateway.sessions[0]?.tasks.list()).toMatchObject([{ status: 'working', abandoned: true }]);

  const again = wire.call('work');
  called()?.reply(text('the result'));
  expect(textOf(await again)).toBe('the result');
});
