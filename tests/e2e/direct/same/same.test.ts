/** Every reply and every notification through the gateway is that of the server alone, except for what `DIFFERENCES` lists. */
import { describe, expect, it } from 'vitest';
import type { Era } from '../../../servers/rich/wire.ts';
import { owned } from '../../../support/owned.ts';
import { differing } from './compare.ts';
import type { Pair } from './changes.ts';
import { DIFFERENCES } from './differences.ts';
import { serverAlone, throughGateway } from './places.ts';
import { SCRIPT } from './script.ts';
import { play, type Trace } from './trace.ts';
import { connect, type Transport } from './wire-client.ts';

const ENDS: [Era, Transport][] = [
  ['legacy', 'HTTP'],
  ['legacy', 'stdio'],
  ['modern', 'HTTP'],
  ['modern', 'stdio'],
];

async function alone(era: Era, transport: Transport): Promise<Trace> {
  const client = owned(await connect(era, await serverAlone(era, transport)));
  return play(client, SCRIPT, ({ news }) => news?.[era] ?? 0);
}

const RECORDED = new Map<string, Trace>();

/** Recorded once: it is the same each time. */
async function recorded(era: Era, transport: Transport): Promise<Trace> {
  const key = `${era} ${transport}`;
  const trace = RECORDED.get(key) ?? (await alone(era, transport));
  RECORDED.set(key, trace);
  return trace;
}

/** What is expected through the gateway, and which differences were listed for nothing. */
function expectation(
  alone: Trace,
  server: Transport,
  pair: Pair,
  transport: Transport,
): { expected: Trace; stale: string[] } {
  const stale: string[] = [];
  let expected = alone;
  for (const { what, between, over = server, apply } of DIFFERENCES) {
    if (!between.includes(pair) || over !== server) continue;
    const changed = Object.fromEntries(
      Object.entries(expected).map(([step, each]) => [step, apply(step, each, { pair, transport, alone })]),
    );
    if (differing(expected, changed, true).length === 0) stale.push(what);
    expected = changed;
  }
  return { expected, stale };
}

describe.each(ENDS)('the %s server over %s', (serverEra, serverTransport) => {
  it('D-5: gives the same responses each time without a gateway', async () => {
    const first = await alone(serverEra, serverTransport);
    expect(differing(first, await alone(serverEra, serverTransport), true)).toEqual([]);
    expect(Object.keys(first)).toEqual(SCRIPT.map(({ name }) => name));
  });

  it.each(ENDS)('D-5: gives the same responses to a %s client over %s through the gateway', async (era, transport) => {
    const trace = await recorded(serverEra, serverTransport);
    const { expected, stale } = expectation(trace, serverTransport, `${serverEra} server, ${era} client`, transport);
    expect(stale).toEqual([]);
    const place = await throughGateway(await serverAlone(serverEra, serverTransport), transport);
    const got = await play(owned(await connect(era, place)), SCRIPT, ({ name }) => expected[name]?.said.length ?? 0);
    expect(differing(expected, got, transport === 'HTTP' && serverTransport === 'HTTP')).toEqual([]);
  });
});

it('D-5: the comparison detects changes in every field', async () => {
  const trace = await recorded('legacy', 'HTTP');
  const changed = structuredClone(trace) as Record<string, { reply?: { result?: Record<string, unknown> } }>;
  const result = changed['call everything']?.reply?.result ?? {};
  delete result['isError'];
  result['x-more'] = null;
  expect(differing(trace, changed as Trace, true)).toEqual([
    'call everything › reply.result.isError: false, but absent',
    'call everything › reply.result.x-more: absent, but null',
  ]);
});
