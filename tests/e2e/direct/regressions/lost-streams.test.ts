import { expect, test } from 'vitest';
import type { Session } from '../../../../src/core/session/session.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire, type LegacyStream } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';
import { puppet, TOOL, type Puppet } from './puppet.ts';

const YES = accept({});

interface Behind {
  server: Puppet;
  wire: LegacyWire;
  /** Messages of the questions that the hub has. */
  atHub: () => Promise<string[]>;
  session: () => Session | undefined;
  /** The stream of a call that has reached the server. */
  call: (name: string, more?: object) => Promise<LegacyStream>;
}

async function behind(): Promise<Behind> {
  const server = await puppet();
  const { url, gateway } = await httpGateway({ one: server.config });
  const wire = await LegacyWire.open(`${url}/one`);
  const call = async (name: string, more: object = {}): Promise<LegacyStream> => {
    const stream = await wire.callStream(TOOL, { name }, { ...more });
    await server.begun(name);
    return stream;
  };
  const hub = await hubOverHttp(url, 'modern');
  const atHub = async (): Promise<string[]> => {
    const { elicitations } = (await hub.call('get_elicitations')).body as { elicitations: { message: string }[] };
    return elicitations.map(({ message }) => message);
  };
  return { server, wire, call, atHub, session: () => gateway.sessions.find(({ view }) => view.kind === 'direct') };
}

const asked = (stream: LegacyStream): boolean => stream.told('elicitation/create').length > 0;

test('D-2: a question that arrives with the end of another call is not lost with the stream of that call', async () => {
  const { server, call } = await behind();
  const [a, b] = [await call('a'), await call('b')];
  server.ask('b', 'of b', ['a']);
  expect(textOf(await a.result())).toBe('end of a');
  const on = [a, b].find(asked) ?? b;
  await on.answer(await on.heard('elicitation/create'), YES);
  expect(await server.answer('of b')).toMatchObject({ result: YES });
  server.end('b');
  expect(textOf(await b.result())).toBe('end of b');
});

test('D-2, D-7: a question that arrives when all calls end waits at the hub', async () => {
  const { server, call, atHub } = await behind();
  const [a, b] = [await call('a'), await call('b')];
  server.ask('b', 'of nobody', ['a', 'b']);
  expect(textOf(await a.result())).toBe('end of a');
  expect(textOf(await b.result())).toBe('end of b');
  await soon(atHub).toEqual(['of nobody']);
});

test('D-2, T-4: a question whose stream breaks moves to another call that may have asked it', async () => {
  const { server, call } = await behind();
  const [a, b] = [await call('a'), await call('b')];
  server.ask('b', 'of b');
  await soon(() => [a, b].some(asked)).toBe(true);
  const [broken, other] = asked(a) ? [a, b] : [b, a];
  broken.drop();
  await other.answer(await other.heard('elicitation/create'), YES);
  expect(await server.answer('of b')).toMatchObject({ result: YES });
});

test('E-5, T-7: progress continues on a resumed stream', async () => {
  const { server, wire, call, session } = await behind();
  const stream = await call('a', { _meta: { progressToken: 'mine' } });
  server.report('a', 1);
  await stream.heard('notifications/progress');
  const { lastEventId } = stream;
  stream.drop();
  await soon(() => session()?.tasks.list()).toMatchObject([{ status: 'working', abandoned: true }]);
  const rest = await wire.listen(lastEventId);
  server.report('a', 2);
  expect(await rest.heard('notifications/progress')).toMatchObject({ params: { progressToken: 'mine', progress: 2 } });
  server.end('a');
  expect(textOf(await rest.result())).toBe('end of a');
});

test('T-4, D-2: a client whose stream broke can still cancel the call', async () => {
  const { wire, call, session } = await behind();
  const stream = await call('a');
  stream.drop();
  await soon(() => session()?.tasks.list()).toMatchObject([{ status: 'working', abandoned: true }]);
  await wire.notify('notifications/cancelled', { requestId: stream.id, reason: 'the user pressed stop' });
  await soon(() => session()?.tasks.list()).toMatchObject([{ status: 'cancelled' }]);
});
