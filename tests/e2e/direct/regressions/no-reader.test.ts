import { request, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { defer } from '../../../support/owned.ts';
import { legacy, programByHand, text, toolNamed, type Asker } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';

/** More than is kept for a client that does not read, and than fits between two sockets. */
const LINES = 60;
const LINE = 'x'.repeat(1024 * 1024);

/** Sends a request and reads of the answer what comes first, but nothing more. */
async function postAndStare(url: string, { message, headers }: ReturnType<LegacyWire['raw']>): Promise<string> {
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

test('X-3, E-5: a client that does not read is cut off, and may come back for the result', async () => {
  let asker: Asker | undefined;
  const script = legacy(
    {
      'tools/list': (caller) => caller.reply({ tools: [toolNamed('work', 'forbidden')] }),
      'tools/call': (caller) => void (asker = caller),
    },
    { tasks: undefined, logging: {} },
  );
  const { config } = await programByHand(script);
  const { url, gateway } = await httpGateway({ one: config });
  const wire = await LegacyWire.open(`${url}/one`);
  const begun = await postAndStare(`${url}/one`, wire.raw('tools/call', { name: 'work', arguments: {} }));
  const lastEventId = /^id: (.*)$/m.exec(begun)?.[1];
  const log = { method: 'notifications/message', params: { level: 'info', data: LINE } };
  for (let line = 0; line < LINES; line += 1) asker?.say(log);
  await soon(() => gateway.sessions[0]?.tasks.list()).toMatchObject([{ status: 'working', orphan: true }]);

  const rest = await wire.listen(lastEventId);
  asker?.reply(text('the result'));
  expect(textOf(await rest.result())).toBe('the result');
});
