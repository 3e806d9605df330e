import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { v1Stdio } from '../../../support/servers.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire, type LegacyStream } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';

const MEETINGS = 10;
const FIRST = ['Ada', 'Ben', 'Cleo', 'Dan', 'Eve'];
const LATER = ['Finn', 'Gus', 'Hal', 'Ida', 'Jo'];
const NAMES = [...FIRST, ...LATER];

const questionsOn = (streams: LegacyStream[]): { id: unknown; message: string }[] =>
  streams.flatMap(({ messages }) =>
    messages
      .filter(({ method }) => method === 'elicitation/create')
      .map(({ id, params }) => ({ id, message: String((params as { message: unknown }).message) })),
  );

/** All call at once; with each that is answered, and ends, another one begins to ask. */
async function meet(wire: LegacyWire): Promise<{ said: unknown[]; asked: string[] }> {
  const streams: LegacyStream[] = [];
  const begin = async (name: string): Promise<unknown> => {
    const stream = await wire.callStream('ask', { message: `${name}?` });
    streams.push(stream);
    return textOf(await stream.result());
  };
  const said = FIRST.map(begin);
  const answered = new Set<unknown>();
  const answerNew = async (): Promise<number> => {
    for (const { id, message } of questionsOn(streams)) {
      if (answered.has(id)) continue;
      const later = LATER[answered.size];
      answered.add(id);
      if (later !== undefined) said.push(begin(later));
      await streams[0]?.answer({ id }, accept({ name: message.slice(0, -1) }));
    }
    return answered.size;
  };
  await soon(answerNew).toBe(NAMES.length);
  return { said: await Promise.all(said), asked: questionsOn(streams).map(({ message }) => message) };
}

test('D-2: calls that ask at once are each asked once, though a program does not say for which it asks', async () => {
  const { url } = await httpGateway({ one: v1Stdio() });
  const wire = await LegacyWire.open(`${url}/one`);
  for (let meeting = 0; meeting < MEETINGS; meeting += 1) {
    const { said, asked } = await meet(wire);
    expect(said).toEqual(NAMES.map((name) => `Hello ${name}`));
    expect(asked.toSorted()).toEqual(NAMES.map((name) => `${name}?`));
  }
});
