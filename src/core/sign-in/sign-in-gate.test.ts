/** Calls to a server that requires a sign-in, through a whole core with scripted accounts, servers and clock. */
import { describe, expect, test } from 'vitest';
import {
  asked,
  type Core,
  directSession,
  hubSession,
  SILENT,
  startCore,
  type CoreOptions,
} from '../../../tests/support/core.ts';
import { ScriptedAccounts } from '../../../tests/support/scripted-accounts.ts';
import type { ScriptedCall } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { Caller, CallReply, CallRequest } from '../call/request.ts';
import type { Session } from '../session/session.ts';
import type { NeededSignIn } from '../ports/accounts.ts';
import { SignInRequired } from './required.ts';

const WAITING: Caller = { ...SILENT, effectOf: () => 'wait', followsApproval: true };

interface Play extends Core {
  accounts: ScriptedAccounts;
}

/** A server that refuses every call before the sign-in. */
async function play(
  options: CoreOptions = {},
  accounts = new ScriptedAccounts(),
  base = 'http://gateway',
): Promise<Play> {
  const core = await startCore({ ...options, accounts });
  core.backends.tools['work'] = (made) => void refuseOrAnswer(made, accounts, base);
  return { ...core, accounts };
}

async function refuseOrAnswer(made: ScriptedCall, accounts: ScriptedAccounts, base: string): Promise<void> {
  if (accounts.signedIn.has('local one')) made.answer('done');
  else made.end(refusedWith(await signInAt(accounts, base)));
}

async function signInAt(accounts: ScriptedAccounts, base = 'http://gateway'): Promise<NeededSignIn> {
  const signIn = await accounts.signIn({ principal: 'local', server: 'one' });
  return { ...signIn, url: `${base}/oauth/start/${signIn.id}` };
}

const refusedWith = (signIn: NeededSignIn) =>
  ({ kind: 'unreachable', reason: 'sign in first', failure: 'sign_in', signIn }) as const;

function call(session: Session, more: Partial<CallRequest> = {}, caller: Caller = WAITING): Promise<CallReply> {
  const request = { server: 'one', tool: 'work', args: { path: '/a' }, timeoutMs: Infinity, ...more };
  return session.calls.execute(session.connection('one'), request, caller);
}

const answer = async (session: Session, action: string): Promise<unknown> =>
  session.interactions.answer((await asked(session)).id, 'elicitation', { action }, 'console');

const received = ({ backends }: Core): number => backends.connections.flatMap(({ calls }) => calls).length;

const onlyTask = (session: Session) => {
  const [task, ...more] = session.tasks.list();
  if (task === undefined || more.length > 0) throw new Error('there is not one task');
  return task;
};

describe('asking for a sign-in', () => {
  test('A-Q: a refused call becomes a task, and its question has the URL to sign in', async () => {
    const core = await play();
    core.accounts.scopes = ['read', 'write'];
    const session = await hubSession(core.gateway);
    expect(await call(session)).toMatchObject({ kind: 'task', because: 'sign_in' });
    const question = await asked(session);
    expect(question).toMatchObject({
      server: 'one',
      params: { mode: 'url', elicitationId: 'sign-in-1', url: 'http://gateway/oauth/start/sign-in-1' },
      signIn: { id: 'sign-in-1', scopes: ['read', 'write'] },
    });
    expect(question.params['message']).toBe(
      'Sign in to use one: the page leads you to login.example. It asks for: read, write. The call then continues automatically.',
    );
    expect(onlyTask(session)).toMatchObject({ status: 'input_required' });
  });

  test('A-Q: after the sign-in all calls of the principal at the server continue', async () => {
    const core = await play({ servers: { one: { url: 'http://one.test/' }, two: { url: 'http://two.test/' } } });
    const [hub, direct] = [await hubSession(core.gateway), await directSession(core.gateway)];
    for (const session of [hub, hub, direct]) await call(session);
    await turn();
    const questions = [hub, direct].flatMap((session) => session.interactions.list('elicitation'));
    expect(new Set(questions.map(({ params }) => params['url'])).size).toBe(1);
    expect(questions).toHaveLength(3);
    core.accounts.finish('somebody', 'one');
    core.accounts.finish('local', 'two');
    await turn();
    expect(received(core)).toBe(3);
    core.accounts.finish();
    await turn();
    await turn();
    expect([hub, direct].flatMap((session) => session.tasks.list()).map(({ status }) => status)).toEqual(
      Array.from({ length: 3 }, () => 'completed'),
    );
    expect(hub.interactions.size + direct.interactions.size).toBe(0);
    expect(received(core)).toBe(6);
  });

  test('A-Q: to accept the question opens the page, and the call continues when the sign-in is done', async () => {
    const core = await play();
    const session = await hubSession(core.gateway);
    await call(session);
    await answer(session, 'accept');
    await turn();
    expect(received(core)).toBe(1);
    expect(session.interactions.size).toBe(0);
    expect(onlyTask(session)).toMatchObject({ status: 'working' });
    core.accounts.finish();
    await turn();
    expect(onlyTask(session)).toMatchObject({ status: 'completed' });
  });

  test('A-Q: after a sign-in by another link the call continues, and the question ends without an answer', async () => {
    const core = await play();
    const session = await hubSession(core.gateway);
    await call(session);
    await asked(session);
    core.accounts.finish('local', 'one', { byAnotherLink: true });
    await turn();
    expect(onlyTask(session)).toMatchObject({ status: 'completed' });
    expect(session.interactions.size).toBe(0);
    await core.gateway.recorder?.flush();
    const [entry] = await core.gateway.store.history.read({ kinds: ['question'], order: 'newest', limit: 9 });
    expect(entry).toMatchObject({ status: 'rejected', reason: expect.stringContaining('by another link') as string });
  });

  test('A-Q: a sign-in that finished before the question was opened asks nothing', async () => {
    const core = await play();
    core.backends.tools['work'] = (made) => {
      if (core.accounts.signedIn.size > 0) made.answer('done');
      else
        void signInAt(core.accounts).then((signIn) => {
          core.accounts.finish('local', 'one', { quietly: true });
          made.end(refusedWith(signIn));
        });
    };
    const session = await hubSession(core.gateway);
    expect(await call(session)).toMatchObject({ kind: 'result' });
    expect(session.interactions.size).toBe(0);
  });

  test('A-Q: a server that is unreachable without a sign-in is connected afterwards, also for lists', async () => {
    const core = await play();
    const signIn = await signInAt(core.accounts);
    core.backends.unreachable = new SignInRequired(signIn);
    const session = await hubSession(core.gateway);
    await call(session);
    await expect(session.catalog('one').list('tools')).rejects.toThrow(
      'you have to sign in to login.example first: open http://gateway/oauth/start/sign-in-1, or run `meanwhile login one`',
    );
    const other = await directSession(core.gateway);
    await expect(other.connection('one').ready()).rejects.toThrow('sign in');
    core.backends.unreachable = undefined;
    core.accounts.finish();
    await turn();
    expect(onlyTask(session)).toMatchObject({ status: 'completed' });
    expect(other.connection('one').status.state).toBe('connected');
  });
});

describe('without a sign-in', () => {
  test.each(['decline', 'cancel'])('A-Q: the answer %s fails the call, which is not sent again', async (action) => {
    const core = await play();
    const session = await hubSession(core.gateway);
    await call(session);
    await answer(session, action);
    await turn();
    const said = action === 'decline' ? 'declined' : 'cancelled';
    expect(onlyTask(session)).toMatchObject({
      status: 'failed',
      error: { message: `the request to sign in to login.example was ${said}, and the call was not made` },
    });
    expect(received(core)).toBe(1);
  });

  test('A-Q: the call fails when the time for the sign-in is over, accepted or not', async () => {
    const core = await play();
    core.accounts.expiresAt = core.clock.now() + 60_000;
    const session = await hubSession(core.gateway);
    await call(session);
    await answer(session, 'accept');
    await call(session, { args: {} });
    await asked(session);
    core.clock.advance(60_000);
    await turn();
    for (const task of session.tasks.list()) {
      expect(task).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining('in time') as string },
      });
    }
    expect(session.interactions.size).toBe(0);
  });

  test('A-32: a call that the server still refuses after three sign-ins fails', async () => {
    const core = await play();
    core.backends.tools['work'] = (made) =>
      void signInAt(core.accounts).then((signIn) => made.end(refusedWith(signIn)));
    const session = await hubSession(core.gateway);
    await call(session);
    for (let time = 1; time <= 3; time += 1) {
      await asked(session);
      core.accounts.finish();
      await turn();
      await turn();
    }
    expect(onlyTask(session)).toMatchObject({
      status: 'failed',
      error: { message: 'the server still refuses the call after 3 sign-ins to login.example' },
    });
    expect(received(core)).toBe(4);
  });

  test('A-Q: a cancelled task withdraws its question, and other tasks keep waiting', async () => {
    const core = await play();
    const session = await hubSession(core.gateway);
    await call(session);
    await call(session, { args: { other: true } });
    await turn();
    const [first] = session.tasks.list();
    session.calls.cancel(first?.id ?? '', 'not wanted');
    await turn();
    expect(session.interactions.list('elicitation')).toHaveLength(1);
    core.accounts.finish();
    await turn();
    expect(
      session.tasks
        .list()
        .map(({ status }) => status)
        .toSorted(),
    ).toEqual(['cancelled', 'completed']);
  });

  test('A-Q: if no page can be served, the call fails with the failure sign_in', async () => {
    const core = await play();
    core.backends.tools['work'] = (made) =>
      void signInAt(core.accounts).then((signIn) => made.end(refusedWith({ ...signIn, url: undefined })));
    const session = await hubSession(core.gateway);
    expect(await call(session)).toMatchObject({ kind: 'failed', outcome: { failure: 'sign_in' } });
  });
});

describe('native tasks', () => {
  test('A-Q: a native task is followed after the sign-in, and its call is not repeated', async () => {
    const core = await play();
    core.backends.tools['work'] = (made) => {
      if (made.resumedFrom !== undefined) made.answer('done');
      else void made.keepAsTask().then(async () => made.end(refusedWith(await signInAt(core.accounts))));
    };
    const session = await hubSession(core.gateway);
    await call(session, { asTask: true });
    await asked(session);
    core.accounts.finish();
    await turn();
    expect(onlyTask(session)).toMatchObject({ status: 'completed' });
    expect(core.backends.last.last.resumedFrom).toEqual({ version: 1, task: { taskId: 'native' } });
  });
});

describe('after a restart', () => {
  async function afterKill(core: Play, sessionId: string, base = 'http://gateway'): Promise<[Play, Session]> {
    const { database, clock, accounts } = core;
    database.expireClaims();
    const next = await play({ database, clock, shared: true }, accounts, base);
    const session = await next.gateway.restore(sessionId, 'local');
    if (session === undefined) throw new Error('there is no such session');
    await turn();
    await turn();
    return [next, session];
  }

  const start = async (): Promise<[Play, Session]> => {
    const core = await play({ shared: true });
    const session = await hubSession(core.gateway);
    await call(session, { bare: true, args: {}, meta: { a: 1 }, more: { b: 2 } });
    await asked(session);
    return [core, session];
  };

  test('A-Q: the same question is open with a new link, and the call continues unchanged', async () => {
    const [core, session] = await start();
    const { id } = await asked(session);
    const [next, restored] = await afterKill(core, session.id, 'http://other');
    expect(await asked(restored)).toMatchObject({ id, params: { url: 'http://other/oauth/start/sign-in-1' } });
    next.accounts.finish();
    await turn();
    expect(onlyTask(restored)).toMatchObject({ status: 'completed' });
    expect(next.backends.last.last.outgoing).toMatchObject({ bare: true, meta: { a: 1 }, more: { b: 2 } });
    expect(next.database.rowsOf(session.id).question.size).toBe(0);
  });

  test('A-Q: an accepted question is not asked again, and a sign-in in the meantime counts', async () => {
    const [core, session] = await start();
    await answer(session, 'accept');
    const [next, restored] = await afterKill(core, session.id);
    expect(restored.interactions.size).toBe(0);
    expect(onlyTask(restored)).toMatchObject({ status: 'working' });
    core.accounts.finish('local', 'one', { quietly: true });
    const [last, again] = await afterKill(next, session.id);
    expect(onlyTask(again)).toMatchObject({ status: 'completed' });
    expect(last.database.rowsOf(session.id).question.size).toBe(0);
  });

  test('A-Q: a link that is no longer valid is replaced by a new question', async () => {
    const [core, session] = await start();
    const { id } = await asked(session);
    core.accounts.waiting.clear();
    const [, restored] = await afterKill(core, session.id);
    const question = await asked(restored);
    expect(question.id).not.toBe(id);
    expect(question.params['url']).toBe('http://gateway/oauth/start/sign-in-2');
  });

  test('A-Q: a gateway that stops leaves the question to the next one', async () => {
    const core = await play();
    const session = await hubSession(core.gateway);
    await call(session);
    const { id } = await asked(session);
    await core.stop();
    expect(core.accounts.watchers).toBe(0);
    const next = await play({ database: core.database, clock: core.clock }, core.accounts);
    const restored = await next.gateway.restore(session.id, 'local');
    if (restored === undefined) throw new Error('there is no such session');
    expect((await asked(restored)).id).toBe(id);
    core.accounts.finish();
    await turn();
    expect(onlyTask(restored)).toMatchObject({ status: 'completed' });
  });
});

describe('with rules', () => {
  test('A-Q, G-2: an approval is still valid after the sign-in and a restart, and is not asked for again', async () => {
    const rules = [{ tool: 'work', then: 'ask' }];
    const core = await play({ shared: true, settings: { rules } });
    const session = await hubSession(core.gateway);
    await call(session);
    const { id } = await asked(session);
    await session.interactions.answer(
      id,
      'elicitation',
      { action: 'accept', content: { decision: 'allow' } },
      'console',
    );
    expect(await asked(session)).toMatchObject({ signIn: { id: 'sign-in-1' } });
    core.database.expireClaims();
    const { database, clock, accounts } = core;
    const next = await play({ database, clock, shared: true, settings: { rules } }, accounts);
    const restored = await next.gateway.restore(session.id, 'local');
    if (restored === undefined) throw new Error('there is no such session');
    await turn();
    expect(await asked(restored)).toMatchObject({ signIn: { id: 'sign-in-1' } });
    accounts.finish();
    await turn();
    await turn();
    expect(onlyTask(restored)).toMatchObject({ status: 'completed' });
    expect(received(core) + received(next)).toBe(3);
  });
});
