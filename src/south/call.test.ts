import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Server } from '@modelcontextprotocol/server';
import { afterEach, expect, test, vi } from 'vitest';
import type { ConnectionSink } from '../core/ports.ts';
import { runCall } from './call.ts';

const HOUR = 3_600_000;

const sink: ConnectionSink = {
  connected: () => {},
  lost: () => {},
  notification: () => {},
  log: () => {},
  question: () => Promise.reject(new Error('nobody was asked anything')),
};

afterEach(() => {
  vi.useRealTimers();
});

/** A server whose only tool answers after the time it is told. */
async function connected(): Promise<{ client: Client; aborted: Promise<void>; close: () => Promise<void> }> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: 'slow', version: '1.0.0' }, { capabilities: { tools: {} } });
  const aborted = new Promise<void>((heard) => {
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
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
  const client = new Client({ name: 'test', version: '1.0.0' });
  await Promise.all([server.connect(far), client.connect(near)]);
  return {
    client,
    aborted,
    close: async () => {
      await client.close();
      await server.close();
    },
  };
}

test('B-5: a call may take hours; nothing but its caller ends it', async () => {
  const { client, close } = await connected();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  let ended = false;
  const outcome = runCall(
    client,
    {
      id: 'call',
      tool: 'slow',
      args: { ms: 3 * HOUR },
      signal: new AbortController().signal,
      onProgress: () => {},
    },
    sink,
  ).finally(() => {
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

test('H-6: its caller ends it on the server too', async () => {
  const { client, aborted, close } = await connected();
  const caller = new AbortController();
  const call = { id: 'call', tool: 'slow', args: { ms: HOUR }, signal: caller.signal, onProgress: () => {} };
  const outcome = runCall(client, call, sink);
  caller.abort(new Error('enough'));
  expect(await outcome).toMatchObject({ kind: 'error' });
  await aborted;
  await close();
});
