import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { JumpingClock } from '../../../support/jumping-clock.ts';
import { legacy, programByHand, type Asker } from '../../native/by-hand.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';

const CONTENTS = { contents: [{ uri: 'test://slow', text: 'slow' }] };

/** How long the gateway may take to see that a connection broke. */
const NOTICED_MS = 300;

async function reading() {
  let reader: Asker | undefined;
  const script = legacy({ 'resources/read': (asker) => void (reader = asker) }, { resources: {} });
  const program = await programByHand(script);
  const clock = new JumpingClock();
  const { url } = await httpGateway({ one: program.config }, {}, clock);
  const wire = await LegacyWire.open(`${url}/one`);
  const stream = await wire.stream('resources/read', { uri: 'test://slow' });
  await soon(() => reader).toBeDefined();
  const cancels = (): number => program.count('notifications/cancelled');
  return { wire, stream, cancels, clock, answer: () => reader?.reply(CONTENTS) };
}

test('E-5: a broken stream does not cancel its request: a client that resumes it gets the result', async () => {
  const { wire, stream, cancels, answer } = await reading();
  stream.drop();
  await delay(NOTICED_MS);
  const rest = await wire.listen(stream.lastEventId);
  answer();
  expect(await rest.result()).toEqual(CONTENTS);
  expect(cancels()).toBe(0);
});

test('E-5: a request is cancelled when its client does not resume the stream in time', async () => {
  const { stream, cancels, clock } = await reading();
  stream.drop();
  await delay(NOTICED_MS);
  expect(cancels()).toBe(0);
  clock.jump(5000);
  await soon(cancels).toBe(1);
});
