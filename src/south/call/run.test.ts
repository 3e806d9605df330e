import { InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { afterEach, expect, test, vi } from 'vitest';
import { asServerTransport } from '../../../tests/support/server-transport.ts';
import type { OutgoingCall } from '../../core/ports/connection.ts';
import { systemClock } from '../../lib/clock.ts';
import { Peer } from '../peer/peer.ts';
import { introduce } from '../peer/introduction.ts';
import type { CallChannel } from './channel.ts';
import { RunningCalls } from './running-calls.ts';
import { runCall } from './run.ts';

const HOUR = 3_600_000;

/** A channel to a server that has no tasks and never asks. */
function lineTo(peer: Peer): CallChannel {
  return {
    request: async (method, params, options) => peer.request(method, params, options),
    attempt: async () => ({
      clock: systemClock,
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
    clock: systemClock,
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

afterEach(() => {
  vi.useRealTimers();
});

/** A server whose only tool answers after the time it is told. */
async function connected(): Promise<{
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
        const timer = setTimeout(resolve, Number(params.arguments?.['ms']));
        mcpReq.signal.addEventListener('abort', () => {
          clearTimeout(timer);
          heard();
          reject(new Error('aborted'));
        });
      });
      return { content: [{ type: 'text', text: 'at last' }] };
    });
  });
  const peer = new Peer(systemClock);
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
  const { peer, close } = await connected();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  let ended = false;
  const live = new RunningCalls().begin(callOf(3 * HOUR, new AbortController().signal));
  const outcome = runCall(lineTo(peer), live).finally(() => {
    ended = true;
  });
  await vi.advanceTimersByTimeAsync(3 * HOUR - 1);
  expect(ended).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await outcome).toEqual({
    kind: 'result',
    result: { content: [{ type: 'text', text: 'at last' }] },
  });
  // Nor is a timer of the request left behind.
  expect(vi.getTimerCount()).toBe(0);
  await close();
});

test('H-6: aborting a call cancels it on the server', async () => {
  const { peer, started, aborted, close } = await connected();
  const caller = new AbortController();
  const outcome = runCall(lineTo(peer), new RunningCalls().begin(callOf(HOUR, caller.signal)));
  await started;
  caller.abort(new Error('enough'));
  expect(await outcome).toMatchObject({ kind: 'error' });
  await aborted;
  await close();
});
