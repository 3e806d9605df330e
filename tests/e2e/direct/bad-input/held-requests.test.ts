import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { postAndLeave } from '../../../support/raw-http.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, ROUNDS, type Round } from '../modern-wire.ts';
import { startAskingPrompts } from './asking-prompts.ts';

const PROMPT = { name: 'any' };

async function behind() {
  const server = await startAskingPrompts();
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const direct = `${url}/one`;
  return { server, gateway, direct, wire: new ModernWire(direct, { capabilities: ROUNDS }) };
}

/** The keys under which a round asks for the name and for the age. */
function keysOf({ inputRequests }: Round): { name: string; age: string } {
  const find = (field: string): string =>
    Object.entries(inputRequests).find(([, { params }]) => JSON.stringify(params).includes(`"${field}"`))?.[0] ?? '';
  return { name: find('name'), age: find('age') };
}

const ADA = accept({ name: 'Ada' });
const AGE = accept({ age: 36 });

async function firstRound(wire: ModernWire): Promise<Round> {
  const round = (await wire.request('prompts/get', PROMPT)) as Round;
  expect(Object.keys(round.inputRequests)).toHaveLength(2);
  return round;
}

const textIn = ({ messages }: Json): unknown =>
  (messages as { content: { text: string } }[] | undefined)?.[0]?.content.text;

test('D-5, D-4: both questions of a prompt come in one round, and the next round brings the result', async () => {
  const { wire, server } = await behind();
  const round = await firstRound(wire);
  const { name, age } = keysOf(round);
  const { requestState } = round;
  const inputResponses = { [name]: ADA, [age]: AGE };
  expect(textIn(await wire.request('prompts/get', { ...PROMPT, requestState, inputResponses }))).toBe('Ada, 36');
  expect(server.asked).toBe(1);
});

test('D-5, D-4, X-4: a client that answers one of two questions is asked only the other one again', async () => {
  const { wire, server } = await behind();
  const round = await firstRound(wire);
  const { name, age } = keysOf(round);
  const second = (await wire.request('prompts/get', {
    ...PROMPT,
    requestState: round.requestState,
    inputResponses: { [name]: ADA },
  })) as Round;
  expect(Object.keys(second.inputRequests)).toEqual([age]);
  const last = { requestState: second.requestState, inputResponses: { [age]: AGE } };
  expect(textIn(await wire.request('prompts/get', { ...PROMPT, ...last }))).toBe('Ada, 36');
  expect(server.asked).toBe(1);
});

test('D-5, X-4: a wrong answer to a prompt’s question is an error, and both questions stay open', async () => {
  const { wire } = await behind();
  const { requestState, ...round } = await firstRound(wire);
  const { name, age } = keysOf(round as Round);
  const wrong = { [name]: accept({ name: 5 }), [age]: AGE };
  const error = await wire.error('prompts/get', { ...PROMPT, requestState, inputResponses: wrong });
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('answer is invalid') });
  const right = { [name]: ADA, [age]: AGE };
  expect(textIn(await wire.request('prompts/get', { ...PROMPT, requestState, inputResponses: right }))).toBe('Ada, 36');
});

test('D-4, X-4: a used request state, or one of another kind of request, is refused', async () => {
  const { wire } = await behind();
  const { requestState, ...round } = await firstRound(wire);
  const { name, age } = keysOf(round as Round);
  expect(await wire.error('tools/call', { name: 'any', arguments: {}, requestState })).toMatchObject({ code: -32602 });
  expect(await wire.error('prompts/get', { ...PROMPT, requestState: `${requestState}x` })).toMatchObject({
    code: -32602,
  });
  const inputResponses = { [name]: ADA, [age]: AGE };
  await wire.request('prompts/get', { ...PROMPT, requestState, inputResponses });
  // It is kept for a while, for a client that did not get it.
  expect(textIn(await wire.request('prompts/get', { ...PROMPT, requestState }))).toBe('Ada, 36');
});

test('D-5: a client that leaves before the first round does not keep the server busy', async () => {
  const { wire, server, direct, gateway } = await behind();
  const { message, headers } = wire.as({}).raw('prompts/get', PROMPT);
  const sent = postAndLeave(direct, message, headers);
  await soon(() => server.asked).toBe(1);
  sent.destroy();
  await soon(() => server.stopped).toBe(1);
  await soon(() => gateway.sessions.filter(({ busy }) => busy)).toEqual([]);
});

test('D-5: a legacy client gets both questions of a prompt on the stream of its request', async () => {
  const { direct } = await behind();
  const wire = await LegacyWire.open(direct);
  const stream = await wire.stream('prompts/get', PROMPT);
  await soon(() => stream.told('elicitation/create').length).toBe(2);
  for (const asked of stream.messages) {
    await stream.answer(asked, JSON.stringify(asked).includes('"age"') ? AGE : ADA);
  }
  expect(textIn(await stream.result())).toBe('Ada, 36');
});

test('D-5, T-4: a prompt stops when its legacy client disconnects or cancels during a question', async () => {
  const { direct, server, gateway } = await behind();
  const wire = await LegacyWire.open(direct);
  const broken = await wire.stream('prompts/get', PROMPT);
  await broken.heard('elicitation/create');
  broken.drop();
  await soon(() => server.stopped).toBe(1);
  const cancelled = await wire.stream('prompts/get', PROMPT);
  await cancelled.heard('elicitation/create');
  await wire.notify('notifications/cancelled', { requestId: cancelled.id, reason: 'enough' });
  await soon(() => server.stopped).toBe(2);
  await soon(() => gateway.sessions.map(({ interactions }) => interactions.size)).toEqual([0]);
});
