import { InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { asServerTransport } from '../../../tests/support/server-transport.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { OutgoingCall } from '../../core/ports/connection.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { Peer } from '../peer/peer.ts';
import { introduce } from '../peer/introduction.ts';
import type { CallChannel } from './channel.ts';
import { RunningCalls } from './running-calls.ts';
import { runCall } from './run.ts';

const HOUR = 3_600_000;

/** A channel to a server that has no tasks and never asks. */
function lineTo(peer: Peer, clock: Clock): CallChannel {
  return {
    request: async (method, params, options) => peer.request(method, params, options),
    attempt: async () => ({
      clock,
      offer: undefined,
      isCurrent: true,
      request: async (method, params, options) => peer.request(method, params, options),
      callMeta: () => ({}),
      taskSupport: async () => 'forbidden',
    }),
    question: async () => Promise.reject(new Error('nobody was asked anything')),
    listenForTask: () => {},
    reconnect: { firstMs: 1, factor: 1, maxMs: 1, attempts: 0 },
    pollTimeoutMs: 1000,
    clock,
    closed: false,
    sessionId: undefined,
    respond: async () => {},
  };
}

function callOf(ms: number, signal: AbortSignal): OutgoingCall {
  return {
    id: 'call',
    tool: 'slow',
    args: { ms },
    tasks: 'use',
    signal,
    listener: { onProgress: () => {}, onTask: () => {}, onCheckpoint: async () => {} },
  };
}

/** A server whose only tool answers after the time it is told. */
async function connected(clock: Clock): Promise<{
  peer: Peer;
  started: Promise<void>;
  aborted: Promise<void>;
  close: () => Promise<void>;
}> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: 'slow', version: '1.0.0' }, { capabilities: { tools: {} } });
  let start = (): void => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const aborted = new Promise<void>((heard) => {
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      start();
      await new Promise<void>((resolve, reject) => {
        const stopTimer = clock.after(Number(params.arguments?.['ms']), resolve);
        mcpReq.signal.addEventListener('abort', () => {
          stopTimer();
          heard();
          reject(new Error('aborted'));
        });
      });
      return { content: [{ type: 'text', text: 'at last' }] };
    });
  });
  const peer = new Peer(clock);
  await Promise.all([server.connect(far), peer.connect(asServerTransport(near))]);
  await introduce(peer, {
    client: { name: 'test', version: '1.0.0' },
    capabilities: {},
    timeoutMs: 1000,
    probeMs: 1000,
    knownOld: true,
    isChild: false,
  });
  return {
    peer,
    started,
    aborted,
    close: async () => {
      await peer.close();
      await server.close();
    },
  };
}

test('B-5: a call may take hours if its caller sets no limit', async () => {
  const clock = new TestClock();
  const { peer, started, close } = await connected(clock);
  let ended = false;
  const live = new RunningCalls().begin(callOf(3 * HOUR, new AbortController().signal));
  const outcome = runCall(lineTo(peer, clock), live).finally(() => {
    ended = true;
  });
  await started;
  clock.advance(3 * HOUR - 1);
  await turn();
  expect(ended).toBe(false);
  clock.advance(1);
  expect(await outcome).toEqual({
    kind: 'result',
    result: { content: [{ type: 'text', text: 'at last' }] },
  });
  // Nor is a timer of the request left behind.
  expect(clock.armed).toBe(0);
  await close();
});

test('H-6: aborting a call cancels it on the server', async () => {
  const { peer, started, aborted, close } = await connected(systemClock);
  const caller = new AbortController();
  const outcome = runCall(lineTo(peer, systemClock), new RunningCalls().begin(callOf(HOUR, caller.signal)));
  await started;
  caller.abort(new Error('enough'));
  expect(await outcome).toMatchObject({ kind: 'error' });
  await aborted;
  await close();
});
