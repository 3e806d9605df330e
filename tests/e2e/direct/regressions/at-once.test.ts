import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { v1Stdio } from '../../../support/servers.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire, type LegacyStream } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';

const MEETINGS = 10;
const NAMES = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve'];

const questionsOn = (streams: LegacyStream[]): { id: unknown; message: string }[] =>
  streams.flatMap(({ messages }) =>
    messages
      .filter(({ method }) => method === 'elicitation/create')
      .map(({ id, params }) => ({ id, message: String((params as { message: unknown }).message) })),
  );

test('D-2: calls that ask at once are each asked once, though a program does not say for which it asks', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const wire = await LegacyWire.open(`${url}/one`);
  for (let meeting = 0; meeting < MEETINGS; meeting += 1) {
    const streams = await Promise.all(NAMES.map(async (name) => wire.callStream('ask', { message: `${name}?` })));
    const [any] = streams;
    const answered = new Set<unknown>();
    const answerNew = async (): Promise<number> => {
      for (const { id, message } of questionsOn(streams)) {
        if (answered.has(id)) continue;
        answered.add(id);
        await any?.answer({ id }, accept({ name: message.slice(0, -1) }));
      }
      return answered.size;
    };
    await soon(answerNew).toBe(NAMES.length);
    const results = await Promise.all(streams.map(async (stream) => stream.result()));
    expect(results.map(textOf)).toEqual(NAMES.map((name) => `Hello ${name}`));
    expect(
      questionsOn(streams)
        .map(({ message }) => message)
        .toSorted(),
    ).toEqual(NAMES.map((name) => `${name}?`));
  }
});
