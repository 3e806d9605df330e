/** What every connection to a server must do, whatever is at its other end. */

import { describe, expect, test } from 'vitest';
import {
  LEAVE_RUNNING,
  type Arrival,
  type CallListener,
  type Connection,
  type ConnectionSink,
  type IncomingQuestion,
  type OutgoingCall,
  type OutgoingRequest,
  type Progress,
  type ServerTask,
} from '../../src/core/ports/connection.ts';
import type { Answer } from '../../src/core/interaction/interaction.ts';
import type { ResumePoint } from '../../src/core/task/task.ts';
import { owned } from '../support/owned.ts';

/** A server of the contract. The test owns it. */
export interface ContractServer {
  connect(sink: ConnectionSink): Connection;
  /** Ends the server without a word; it can be reached again after `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface Implementation {
  /** With the tools `echo`, `slow`, `ask` and `rpc_error`. */
  plain: () => Promise<ContractServer>;
  /** Has resources, repeats what it was notified of, and tells of changes when its tool `change` is called. */
  talkative: () => Promise<ContractServer>;
  /** Keeps calls of its tool `slow` as tasks. */
  withTasks: () => Promise<ContractServer>;
  unreachable: () => Promise<ContractServer>;
}

/** Everything that a connection tells. */
class Sink implements ConnectionSink {
  readonly arrivals: Arrival[] = [];
  readonly losses: string[] = [];
  readonly notifications: { method: string; params: Record<string, unknown> }[] = [];
  readonly questions: IncomingQuestion[] = [];
  answer: (question: IncomingQuestion) => Promise<Answer> = untilWithdrawn;

  connected(arrival: Arrival): void {
    this.arrivals.push(arrival);
  }

  lost(reason: string): void {
    this.losses.push(reason);
  }

  notification(method: string, params: Record<string, unknown>): void {
    this.notifications.push({ method, params });
  }

  log(): void {}

  async question(question: IncomingQuestion): Promise<Answer> {
    this.questions.push(question);
    return this.answer(question);
  }
}

async function untilWithdrawn({ withdrawn }: IncomingQuestion): Promise<never> {
  return new Promise((_resolve, reject) => {
    withdrawn.addEventListener('abort', () => reject(new Error('withdrawn')), { once: true });
  });
}

let calls = 0;

/** A call, and what becomes of it. */
function outgoing(tool: string, args: Record<string, unknown> = {}, more: Partial<CallListener> = {}) {
  const abort = new AbortController();
  const progress: Progress[] = [];
  const tasks: ServerTask[] = [];
  const checkpoints: (ResumePoint | undefined)[] = [];
  calls += 1;
  const call: OutgoingCall = {
    id: `call ${calls}`,
    tool,
    args,
    tasks: 'use',
    signal: abort.signal,
    listener: {
      onProgress: (each) => void progress.push(each),
      onTask: (task) => void tasks.push(task),
      onCheckpoint: async (checkpoint) => void checkpoints.push(checkpoint),
      ...more,
    },
  };
  return { call, abort, progress, tasks, checkpoints };
}

const LONG = { ms: 600_000 };

export function connectionContract(name: string, { plain, talkative, withTasks, unreachable }: Implementation): void {
  const connected = async (
    open: () => Promise<ContractServer>,
  ): Promise<{ server: ContractServer; connection: Connection; sink: Sink }> => {
    const server = await open();
    const sink = new Sink();
    return { server, sink, connection: owned(server.connect(sink)) };
  };

  describe(`connection contract: ${name}`, () => {
    describe('connecting', () => {
      test('S-2: begins on first use, and concurrent callers share one attempt', async () => {
        const { connection, sink } = await connected(plain);
        expect(connection.status).toEqual({ state: 'idle' });
        const attempts = [connection.ready(), connection.ready()];
        expect(connection.status).toEqual({ state: 'connecting' });
        const [first, second] = await Promise.all(attempts);
        expect(second).toBe(first);
        expect(connection.status).toMatchObject({ state: 'connected', info: first });
        expect(await connection.ready()).toBe(first);
        expect(sink.arrivals).toEqual(['first']);
      });

      test('H-12: fails with the kind of the failure, and a call then fails as not sent', async () => {
        const { connection, sink } = await connected(unreachable);
        await expect(connection.ready()).rejects.toMatchObject({ failure: expect.any(String) as unknown });
        expect(['waiting', 'failed']).toContain(connection.status.state);
        const { call, progress } = outgoing('echo', { text: 'hi' });
        expect(await connection.call(call)).toMatchObject({
          kind: 'unreachable',
          failure: expect.any(String) as unknown,
        });
        expect([sink.arrivals, sink.losses, progress]).toEqual([[], [], []]);
      });
    });

    describe('calls', () => {
      test('B-1: end with the result of the server', async () => {
        const { connection } = await connected(plain);
        const { call } = outgoing('echo', { text: 'hi ✓' });
        expect(await connection.call(call)).toMatchObject({
          kind: 'result',
          result: { content: [{ type: 'text', text: 'hi ✓' }] },
        });
      });

      test('T-5: end with the error of the server', async () => {
        const { connection } = await connected(plain);
        const message = expect.stringContaining('quota used up') as unknown;
        expect(await connection.call(outgoing('rpc_error').call)).toEqual({
          kind: 'error',
          error: { code: -32011, message, data: { retryAfter: 7 } },
        });
      });

      test('P-3: are sent after the caller has recorded that', async () => {
        const { connection } = await connected(plain);
        let release = (): void => {};
        let asked = 0;
        const recorded = new Promise<void>((resolve) => {
          release = resolve;
        });
        const onSending = async (): Promise<void> => {
          asked += 1;
          await recorded;
        };
        const { call } = outgoing('echo', { text: 'hi' }, { onSending });
        let ended = false;
        const outcome = connection.call(call).finally(() => {
          ended = true;
        });
        await expect.poll(() => asked).toBe(1);
        // The server would have answered this one meanwhile.
        await connection.call(outgoing('echo', { text: 'another' }).call);
        expect(ended).toBe(false);
        release();
        expect(await outcome).toMatchObject({ kind: 'result' });
        expect(asked).toBe(1);
      });

      test('T-7: report progress to their own listener', async () => {
        const { connection } = await connected(plain);
        const one = outgoing('slow', { ms: 50, steps: 2 });
        const other = outgoing('echo', { text: 'hi' });
        await Promise.all([connection.call(one.call), connection.call(other.call)]);
        expect(one.progress).toMatchObject([
          { progress: 1, total: 2, message: 'step 1' },
          { progress: 2, total: 2, message: 'step 2' },
        ]);
        expect(other.progress).toEqual([]);
      });

      test('H-6: end when they are aborted, before or after they were sent', async () => {
        const { connection } = await connected(plain);
        const early = outgoing('slow', LONG);
        early.abort.abort(new Error('never mind'));
        expect(await connection.call(early.call)).toMatchObject({ kind: 'error' });
        const late = outgoing('slow', { ...LONG, steps: 10_000 });
        const outcome = connection.call(late.call);
        await expect.poll(() => late.progress.length).toBeGreaterThan(0);
        late.abort.abort(new Error('enough'));
        expect(await outcome).toMatchObject({ kind: 'error' });
        expect(connection.status.state).toBe('connected');
      });
    });

    describe('questions', () => {
      test('H-3: arrive with their call, and the answer reaches the server', async () => {
        const { connection, sink } = await connected(plain);
        sink.answer = async () => ({ action: 'accept', content: { name: 'Ada' } });
        const { call } = outgoing('ask', { message: 'Who?' });
        expect(await connection.call(call)).toMatchObject({ result: { content: [{ text: 'Hello Ada' }] } });
        expect(sink.questions).toMatchObject([{ kind: 'elicitation', callId: call.id, params: { message: 'Who?' } }]);
      });

      test('H-6, S-4: are withdrawn when their call is aborted and the connection is closed', async () => {
        const { connection, sink } = await connected(plain);
        const { call, abort } = outgoing('ask');
        const outcome = connection.call(call);
        await expect.poll(() => sink.questions.length).toBe(1);
        expect(sink.questions[0]?.withdrawn.aborted).toBe(false);
        abort.abort(new Error('enough'));
        expect(await outcome).toMatchObject({ kind: 'error' });
        await connection.close();
        expect(sink.questions[0]?.withdrawn.aborted).toBe(true);
      });
    });

    describe('native tasks', () => {
      test('B-6: are reported, and end with the result', async () => {
        const { connection } = await connected(withTasks);
        const { call, tasks, checkpoints } = outgoing('slow', { ms: 20, text: 'in the end' });
        expect(await connection.call(call)).toMatchObject({ result: { content: [{ text: 'in the end' }] } });
        expect(tasks[0]).toMatchObject({ taskId: expect.any(String) as unknown, status: 'working' });
        expect(checkpoints[0]).toBeDefined();
      });

      test('P-2: continue without their call, and another call resumes from the checkpoint', async () => {
        const { connection } = await connected(withTasks);
        const left = outgoing('slow', { ms: 300, text: 'in the end' });
        const outcome = connection.call(left.call);
        await expect.poll(() => left.checkpoints.length).toBeGreaterThan(0);
        left.abort.abort(LEAVE_RUNNING);
        expect((await outcome).kind).not.toBe('result');
        const next = outgoing('slow');
        const resumed = await connection.resume(left.checkpoints[0] ?? { version: 0 }, next.call);
        expect(resumed).toMatchObject({ kind: 'result', result: { content: [{ text: 'in the end' }] } });
      });

      test('H-6: end on the server when their call is aborted', async () => {
        const { connection } = await connected(withTasks);
        const { call, abort, checkpoints } = outgoing('slow', LONG);
        const outcome = connection.call(call);
        await expect.poll(() => checkpoints.length).toBeGreaterThan(0);
        abort.abort(new Error('enough'));
        expect(await outcome).toMatchObject({ kind: 'error' });
        // It is over, one way or another.
        const resumed = await connection.resume(checkpoints[0] ?? { version: 0 }, outgoing('slow').call);
        expect(['cancelled', 'error']).toContain(resumed.kind);
      });
    });

    describe('other messages', () => {
      test('D-5: requests can be answered, refused and aborted', async () => {
        const { connection } = await connected(talkative);
        const listed = await connection.request('tools/list', {});
        expect(listed).toMatchObject({ tools: expect.any(Array) as unknown });
        const { signal } = new AbortController();
        const relayed: OutgoingRequest = {
          id: 'r',
          method: 'tools/list',
          params: {},
          signal,
          onProgress: () => {},
          rounds: 'return',
        };
        expect(await connection.relay(relayed)).toMatchObject({ tools: listed['tools'] });
        await expect(connection.request('no/such', {})).rejects.toMatchObject({ code: -32601 });
        await expect(connection.request('tools/list', {}, AbortSignal.abort(new Error('enough')))).rejects.toThrow();
        expect(connection.status.state).toBe('connected');
      });

      test('D-5: notifications reach the server while it is connected', async () => {
        const { connection } = await connected(talkative);
        connection.notify('notifications/vendor', { early: true });
        await connection.ready();
        connection.notify('notifications/vendor', { n: 1 });
        const heard = async (): Promise<unknown> => (await connection.request('vendor/heard', {}))['heard'];
        await expect.poll(heard).toMatchObject([{ method: 'notifications/vendor', params: { n: 1 } }]);
      });

      test('B-3: updates of resources arrive while the resources are subscribed', async () => {
        const { connection, sink } = await connected(talkative);
        await connection.subscribe('rich://text');
        await connection.subscribe('rich://blob');
        await connection.unsubscribe('rich://text');
        const change = async (): Promise<unknown[]> => {
          await connection.call(outgoing('change', { what: ['rich://text', 'rich://blob'] }).call);
          return sink.notifications.map(({ params }) => params['uri']);
        };
        // A stream for changes may open a moment later.
        await expect.poll(change).toContain('rich://blob');
        sink.notifications.length = 0;
        await expect.poll(change).toContain('rich://blob');
        expect(sink.notifications.map(({ params }) => params['uri'])).not.toContain('rich://text');
      });
    });

    describe('the loss of the server', () => {
      test('B-2, B-3: ends calls, is reported once, and ends with the reconnect', async () => {
        const { connection, sink, server } = await connected(plain);
        const { call, progress } = outgoing('slow', { ...LONG, steps: 10_000 });
        const outcome = connection.call(call);
        await expect.poll(() => progress.length).toBeGreaterThan(0);
        await server.kill();
        expect(await outcome).toMatchObject({ kind: 'lost', reason: expect.any(String) as unknown });
        await expect.poll(() => sink.losses.length).toBe(1);
        expect(connection.status.state).not.toBe('connected');
        await server.start();
        await connection.ready();
        expect(await connection.call(outgoing('echo', { text: 'again' }).call)).toMatchObject({ kind: 'result' });
        expect(sink.arrivals).toHaveLength(2);
        expect(sink.arrivals[1]).not.toBe('first');
        expect(sink.losses).toHaveLength(1);
      });
    });

    describe('closing', () => {
      test('S-4: takes effect once, and later requests fail', async () => {
        const { connection, sink } = await connected(plain);
        await connection.ready();
        await Promise.all([connection.close(), connection.close()]);
        await connection.close();
        expect(connection.status).toEqual({ state: 'closed' });
        await expect(connection.ready()).rejects.toThrow('closed');
        await expect(connection.request('tools/list', {})).rejects.toThrow('closed');
        expect(await connection.call(outgoing('echo').call)).toMatchObject({ kind: 'unreachable' });
        connection.notify('notifications/vendor', {});
        // That it was closed is no loss.
        expect(sink.losses).toEqual([]);
      });

      test('S-4: ends open calls and a connection attempt', async () => {
        const { connection } = await connected(plain);
        const { call, progress } = outgoing('slow', { ...LONG, steps: 10_000 });
        const outcome = connection.call(call);
        await expect.poll(() => progress.length).toBeGreaterThan(0);
        await connection.close();
        expect((await outcome).kind).not.toBe('result');
        const { connection: other } = await connected(plain);
        const attempt = other.ready().catch((error: Error) => error.message);
        await other.close();
        expect(await attempt).toEqual(expect.any(String));
        expect(other.status).toEqual({ state: 'closed' });
      });
    });
  });
}
