/** Two gateways on one store, which ask each other in this process. */
import { expect, test } from 'vitest';
import { type Core, directSession, hubSession, startCore, startTask } from '../../../tests/support/core.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { Gateway } from '../../core/gateway.ts';
import { NeighbourUnreachable, type Neighbours } from '../../core/cluster/neighbours.ts';
import { directView } from '../../core/session/kind.ts';
import type { Session } from '../../core/session/session.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { OwnedElsewhere } from '../../core/errors.ts';
import { Exchange } from '../exchange.ts';
import { Hub } from './hub.ts';
import { answerNeighbour } from './answer-neighbour.ts';
import { loadTools } from './load-tools.ts';

const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: { size: { type: 'string' } } } };

interface Two {
  one: Core;
  other: Core;
  /** Calls a tool as a client of the hub, and returns what its first block says, as `text` if that is no JSON. */
  call: (session: Session, gateway: Gateway, name: string, args?: object) => Promise<Record<string, unknown>>;
  /** The other gateway cannot be reached. */
  cut: () => void;
}

async function startTwo(): Promise<Two> {
  await loadTools();
  const one = await startCore({ shared: true });
  const other = await startCore({ shared: true, database: one.database });
  let isCut = false;
  const neighbours: Neighbours = {
    ask: async (to, principal, request) => {
      if (isCut) throw new NeighbourUnreachable('cut');
      const gateway = [one, other].find((each) => each.gateway.store.cluster?.gatewayId === to.id)?.gateway;
      if (gateway === undefined) throw new NeighbourUnreachable('no such gateway');
      const asked = parseExact(stringifyExact(request)) as typeof request;
      const answer = answerNeighbour({ hub: new Hub(gateway), gateway }, principal, asked, new Exchange());
      const found = await answer.catch((error: unknown) => {
        throw error instanceof OwnedElsewhere ? new NeighbourUnreachable(error.message) : error;
      });
      return parseExact(stringifyExact(found));
    },
  };
  for (const { gateway } of [one, other]) await gateway.announce('memory:', neighbours);
  await turn();
  const call: Two['call'] = async (session, gateway, name, args = {}) => {
    const asking = { by: 'round', capabilities: {}, answers: {} } as const;
    const caller = { session, exchange: new Exchange(), mayRunCommands: false, asking };
    const { result } = await new Hub(gateway).handle('tools/call', { name, arguments: args }, caller);
    const [block] = result['content'] as { text: string }[];
    const text = block?.text ?? '';
    return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text };
  };
  return {
    one,
    other,
    call,
    cut: () => {
      isCut = true;
    },
  };
}

test('K-4: a client of the hub sees and answers a question of a session at another gateway', async () => {
  const { one, other, call } = await startTwo();
  const hub = await hubSession(one.gateway);
  const direct = await directSession(other.gateway);
  await startTask(direct);
  const answered = other.backends.last.ask(FORM);
  await turn();
  const { elicitations } = await call(hub, one.gateway, 'get_elicitations');
  expect(elicitations).toMatchObject([{ message: 'Which size?', server: 'one' }]);
  const [{ requestId }] = elicitations as [{ requestId: string }];
  const answer = { request_id: requestId, action: 'accept', content: { size: 'M' } };
  const wrong = await call(hub, one.gateway, 'respond_to_elicitation', { ...answer, content: { size: 1 } });
  expect(wrong).toMatchObject({ error: { code: 'TOOL_ERR_INVALID_ANSWER' } });
  expect(await call(hub, one.gateway, 'respond_to_elicitation', answer)).toMatchObject({ success: true });
  expect(await answered).toEqual({ action: 'accept', content: { size: 'M' } });
  expect(await call(hub, one.gateway, 'respond_to_elicitation', answer)).toMatchObject({ error: {} });
});

test('K-4: a question to a client without a session can be answered through another gateway', async () => {
  const { one, other, call } = await startTwo();
  const hub = await hubSession(one.gateway);
  const direct = await other.gateway.stateOf({ principal: 'local', name: 'a', view: directView('one') });
  const task = await startTask(direct);
  const answered = other.backends.last.last.ask(FORM);
  await turn();
  const { elicitations } = await call(hub, one.gateway, 'get_elicitations');
  const [{ requestId }] = elicitations as [{ requestId: string }];
  const answer = { request_id: requestId, action: 'accept', content: { size: 'M' } };
  expect(await call(hub, one.gateway, 'respond_to_elicitation', answer)).toMatchObject({ success: true });
  expect(await answered).toEqual({ action: 'accept', content: { size: 'M' } });
  expect(await call(hub, one.gateway, 'cancel_task', { task_id: task })).toMatchObject({ success: true });
});

test('K-4: a client of the hub gets an event for an unclaimed question at another gateway', async () => {
  const { one, other, call } = await startTwo();
  const hub = await hubSession(one.gateway);
  const direct = await directSession(other.gateway);
  await startTask(direct);
  const waiting = call(hub, one.gateway, 'await_activity', { timeout_ms: 60_000 });
  void other.backends.last.ask(FORM).catch(() => {});
  expect(await waiting).toMatchObject({
    triggers: [{ type: 'event', eventType: 'elicitation_request' }],
    pending_client: { elicitations: [{ message: 'Which size?' }] },
  });
});

test('K-4, H-5: tasks of a session at another gateway can be listed, cancelled and read', async () => {
  const { one, other, call } = await startTwo();
  const hub = await hubSession(one.gateway);
  const direct = await directSession(other.gateway);
  const [first, second] = [await startTask(direct), await startTask(direct)];
  const listed = await call(hub, one.gateway, 'list_tasks');
  expect((listed['tasks'] as { task_id: string }[]).map(({ task_id }) => task_id)).toEqual([first, second]);
  expect(await call(hub, one.gateway, 'cancel_task', { task_id: first })).toMatchObject({ success: true });
  expect(direct.tasks.get(first).status).toBe('cancelled');
  const result = call(hub, one.gateway, 'get_task_result', { task_id: second });
  await turn();
  other.backends.last.last.answer('done');
  expect(await result).toEqual({ text: 'done' });
});

test('K-4: a task of a dead gateway is found after this gateway has taken it over', async () => {
  const { one, other, call, cut } = await startTwo();
  const hub = await hubSession(one.gateway);
  const direct = await directSession(other.gateway);
  const id = await startTask(direct);
  await other.backends.last.last.keepAsTask();
  cut();
  const found = call(hub, one.gateway, 'get_task', { task_id: id });
  await turn();
  one.database.expireClaims();
  one.clock.advance(250);
  expect(await found).toMatchObject({ task: { task_id: id, status: 'working' } });
  expect(one.gateway.sessions.map((each) => each.id)).toContain(direct.id);
});

test('K-4: the client gets an error if the gateway that owns the session does not respond', async () => {
  const { one, other, call, cut } = await startTwo();
  const hub = await hubSession(one.gateway);
  const id = await startTask(await directSession(other.gateway));
  cut();
  const found = call(hub, one.gateway, 'cancel_task', { task_id: id });
  for (let quarter = 0; quarter < 80; quarter += 1) {
    await turn();
    one.clock.advance(250);
  }
  expect(await found).toMatchObject({
    error: { code: 'TOOL_ERR_STORE', message: expect.stringContaining('try again') },
  });
});

test('S-1: sessions of other principals and of other clients of the hub are hidden', async () => {
  const { one, other, call } = await startTwo();
  const ada = await hubSession(one.gateway, 'ada');
  const id = await startTask(await directSession(other.gateway));
  expect(await call(ada, one.gateway, 'list_tasks')).toEqual({ tasks: [] });
  expect(await call(ada, one.gateway, 'get_task', { task_id: id })).toMatchObject({
    error: { code: 'TOOL_ERR_TASK_NOT_FOUND' },
  });
  const own = await startTask(await hubSession(other.gateway, 'ada'));
  expect(await call(ada, one.gateway, 'get_task', { task_id: own })).toMatchObject({
    error: { code: 'TOOL_ERR_TASK_NOT_FOUND' },
  });
});
