import { describe, expect, test } from 'vitest';
import { ScriptedBackends, type ScriptedConnection } from '../../../tests/support/scripted-connection.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { createLog } from '../../lib/log.ts';
import type {
  Arrival,
  ClientTraits,
  Connection,
  ConnectionSink,
  IncomingQuestion,
  OutgoingCall,
} from '../ports/connection.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import { shareConnections } from './shared-connections.ts';

const SHARED: ServerConfig = { url: 'http://one.test/', share: 'principal' };
const FORM = { message: 'Which size?' };
const ANSWER = { action: 'accept' };

/** What one session hears of the server. */
class Listener implements ConnectionSink {
  readonly arrivals: Arrival[] = [];
  readonly losses: string[] = [];
  readonly heard: string[] = [];
  readonly raw: unknown[] = [];
  readonly logs: unknown[] = [];
  readonly questions: IncomingQuestion[] = [];
  #answers: ((answer: Record<string, unknown>) => void)[] = [];

  connected(arrival: Arrival): void {
    this.arrivals.push(arrival);
  }

  lost(reason: string): void {
    this.losses.push(reason);
  }

  notification(method: string): void {
    this.heard.push(method);
  }

  rawNotification(_method: string, _params: unknown, related: unknown): void {
    this.raw.push(related);
  }

  log({ data }: { data: unknown }): void {
    this.logs.push(data);
  }

  async question(question: IncomingQuestion): Promise<Record<string, unknown>> {
    this.questions.push(question);
    return new Promise((resolve, reject) => {
      this.#answers.push(resolve);
      question.withdrawn.addEventListener('abort', () => reject(new Error('withdrawn')), { once: true });
    });
  }

  answer(): void {
    this.questions[0]?.onAnswered?.();
    this.#answers[0]?.(ANSWER);
  }
}

function setUp() {
  const backends = new ScriptedBackends();
  const clock = new TestClock();
  const shared = shareConnections(backends, createLog('silent'), clock);
  const join = (more: Partial<ClientTraits> = {}, config = SHARED): { connection: Connection; sink: Listener } => {
    const sink = new Listener();
    const traits = {
      principal: 'ann',
      addedBy: 'config file' as const,
      roots: false,
      preferences: { uris: [] },
      ...more,
    };
    return { sink, connection: shared.connect('one', config, sink, traits) };
  };
  return { backends, clock, join };
}

let calls = 0;

function outgoing(): OutgoingCall & { abort: AbortController } {
  const abort = new AbortController();
  calls += 1;
  return {
    id: `call ${calls}`,
    tool: 'work',
    args: {},
    tasks: 'use',
    signal: abort.signal,
    listener: { onProgress: () => {}, onTask: () => {}, onCheckpoint: async () => {} },
    abort,
  };
}

describe('sharing', () => {
  test('S-2: sessions of one principal share a connection, and sessions with other settings do not', async () => {
    const { backends, join } = setUp();
    join();
    join();
    expect(backends.connections).toHaveLength(1);
    join({ principal: 'bob' });
    join({ roots: true });
    join({ addedBy: 'client' });
    join({}, { url: 'http://one.test/' });
    expect(backends.connections).toHaveLength(5);
  });

  test('S-2: each session is notified of its first connection, even if it joins late', async () => {
    const { join } = setUp();
    const one = join();
    await one.connection.ready();
    const two = join();
    expect(two.sink.arrivals).toEqual([]);
    await two.connection.ready();
    expect([one.sink.arrivals, two.sink.arrivals]).toEqual([['first'], ['first']]);
  });

  test('B-3: all sessions are notified of a loss and of the return', async () => {
    const { backends, join } = setUp();
    const both = [join(), join()];
    for (const { connection } of both) await connection.ready();
    backends.last.lose('it crashed');
    backends.last.comeBack('restart');
    for (const { sink } of both) {
      expect(sink.losses).toEqual(['it crashed']);
      expect(sink.arrivals).toEqual(['first', 'restart']);
    }
  });

  test('S-2: the connection closes with the last session, and keeps the server session if one session wants that', async () => {
    const { backends, join } = setUp();
    const [one, two] = [join(), join()];
    await one.connection.ready();
    const server = backends.last;
    await one.connection.close({ keepSession: true });
    expect(one.connection.status).toEqual({ state: 'closed' });
    expect(server.status.state).toBe('connected');
    await expect(one.connection.ready()).rejects.toThrow('closed');
    await two.connection.close();
    expect(server.closedWith).toEqual({ keepSession: true });
    join();
    expect(backends.connections).toHaveLength(2);
  });

  test('S-1, H-6: a session that leaves cancels only its own calls, and waits briefly for their end', async () => {
    const { backends, join, clock } = setUp();
    const [one, two] = [join(), join()];
    const first = one.connection.call(outgoing());
    const other = outgoing();
    const second = two.connection.call(other);
    await turn();
    const server: ScriptedConnection = backends.last;
    let closed = false;
    const closing = one.connection.close().finally(() => {
      closed = true;
    });
    await turn();
    expect(closed).toBe(false);
    clock.advance(1500);
    await closing;
    expect(server.open.map(({ outgoing: { id } }) => id)).toContain(other.id);
    server.calls[1]?.answer('done');
    expect(await second).toMatchObject({ kind: 'result' });
    server.calls[0]?.answer('too late');
    await first;
  });
});

describe('notifications of the server', () => {
  test('S-2, E-3: updates of a resource go to its subscribers, and other notifications to all sessions', async () => {
    const { backends, join } = setUp();
    const [one, two] = [join(), join()];
    await one.connection.subscribe('a:1');
    await two.connection.subscribe('a:2');
    backends.last.say('notifications/resources/updated', { uri: 'a:1' });
    backends.last.say('notifications/tools/list_changed', undefined);
    backends.last.say('notifications/resources/updated', { uri: 'a:1/part' });
    expect(one.sink.heard).toHaveLength(3);
    expect(two.sink.heard).toEqual(['notifications/tools/list_changed', 'notifications/resources/updated']);
  });

  test('S-2: the server gets one subscription until the last subscriber has left', async () => {
    const { backends, join } = setUp();
    const [one, two] = [join(), join()];
    await Promise.all([one.connection.subscribe('a:1'), two.connection.subscribe('a:1')]);
    await one.connection.unsubscribe('a:1');
    expect([...backends.last.subscribed]).toEqual(['a:1']);
    const three = join({ preferences: { uris: ['a:1'] } });
    await turn();
    await two.connection.close();
    expect([...backends.last.subscribed]).toEqual(['a:1']);
    await three.connection.unsubscribe('a:1');
    expect([...backends.last.subscribed]).toEqual([]);
  });

  test('S-2, E-3: the server gets the lowest log level, and each session receives its own level', async () => {
    const { backends, join } = setUp();
    const one = join({ preferences: { uris: [], logLevel: 'error' } });
    await one.connection.ready();
    const two = join({ preferences: { uris: [], logLevel: 'debug' } });
    await turn();
    expect(backends.last.requests).toMatchObject([{ method: 'logging/setLevel', params: { level: 'debug' } }]);
    for (const level of ['debug', 'error']) backends.last.say('notifications/message', { level, data: level });
    expect(one.sink.logs).toEqual(['error']);
    expect(two.sink.logs).toEqual(['debug', 'error']);
  });

  test('S-1: a session does not see the request IDs of other sessions', async () => {
    const { backends, join } = setUp();
    const [one, two] = [join(), join()];
    const mine = outgoing();
    void one.connection.call(mine);
    await turn();
    backends.last.say('notifications/vendor', {}, { requestId: mine.id });
    expect(one.sink.raw).toEqual([{ requestId: mine.id }]);
    expect(two.sink.raw).toEqual(['unknown']);
  });
});

describe('questions', () => {
  test('S-1: that name a call go to the session of the call', async () => {
    const { backends, join } = setUp();
    const [one, two] = [join(), join()];
    const mine = outgoing();
    void one.connection.call(mine);
    void two.connection.call(outgoing());
    await turn();
    const answered = backends.last.ask(FORM, { callId: mine.id });
    one.sink.answer();
    expect(await answered).toEqual(ANSWER);
    expect(two.sink.questions).toEqual([]);
  });

  test('S-1: that several sessions may have caused go to these sessions, and the first answer counts', async () => {
    const { backends, join } = setUp();
    const [one, two, idle] = [join(), join(), join()];
    const asking = [outgoing(), outgoing()];
    void one.connection.call(asking[0] ?? outgoing());
    void two.connection.call(asking[1] ?? outgoing());
    await turn();
    const candidates = { calls: asking.map(({ id }) => id), others: false };
    const answered = backends.last.ask(FORM, { candidates });
    await turn();
    expect(idle.sink.questions).toEqual([]);
    // Of the calls of others, a session learns nothing.
    expect(one.sink.questions[0]?.candidates).toEqual({ calls: [asking[0]?.id], others: true });
    two.sink.answer();
    expect(await answered).toEqual(ANSWER);
    expect(one.sink.questions[0]?.withdrawn.aborted).toBe(true);
  });

  test('S-1: are withdrawn from a session whose requests have ended, and belong to the last candidate', async () => {
    const { backends, join } = setUp();
    const [one, two] = [join(), join()];
    const asking = [outgoing(), outgoing()];
    const first = one.connection.call(asking[0] ?? outgoing());
    void two.connection.call(asking[1] ?? outgoing());
    await turn();
    const candidates = { calls: asking.map(({ id }) => id), others: false };
    const answered = backends.last.ask(FORM, { candidates });
    await turn();
    expect(two.sink.questions[0]?.othersEnded?.aborted).toBe(false);
    backends.last.calls[0]?.answer('done');
    await first;
    await turn();
    expect(one.sink.questions[0]?.withdrawn.aborted).toBe(true);
    expect(two.sink.questions[0]?.othersEnded?.aborted).toBe(true);
    two.sink.answer();
    expect(await answered).toEqual(ANSWER);
  });

  test('S-1: that no session can have caused are refused', async () => {
    const { backends, join } = setUp();
    const [one] = [join(), join()];
    await one?.connection.ready();
    await expect(backends.last.ask(FORM)).rejects.toThrow('no session has an open request to this server');
  });

  test('S-1: outside of calls go to the session if it is the only one', async () => {
    const { backends, join } = setUp();
    const one = join();
    await one.connection.ready();
    const answered = backends.last.ask(FORM);
    one.sink.answer();
    expect(await answered).toEqual(ANSWER);
  });
});
