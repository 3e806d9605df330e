import { expect, test } from 'vitest';
import { startLiarHttp } from '../../servers/liar-http.ts';
import { BROKEN_QUESTIONS, type Manner } from '../../servers/liar.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { liarStdio } from '../../support/servers.ts';
import { echo } from '../servers/activity.ts';
import { soon, tasksOf } from '../flows/watch.ts';

const DOORS = ['http', 'stdio'] as const;
type Door = (typeof DOORS)[number];

/** Soon enough for a test, and late enough for a busy machine. */
const SETTINGS = { servers: { pollTimeoutMs: 300, connectTimeoutMs: 5000 } };

async function liarConfig(door: Door, manner: Manner): Promise<Servers[string]> {
  return door === 'stdio' ? liarStdio(manner) : { url: owned(await startLiarHttp(manner)).url };
}

/** A gateway with a liar and with a server that is none. */
async function among(door: Door, manner: Manner): Promise<HubClient> {
  const honest = owned(await startV1Http());
  const servers = { liar: await liarConfig(door, manner), honest: { url: honest.url } };
  const { url } = await httpGateway(servers, SETTINGS);
  return hubOverHttp(url);
}

const execute = (hub: HubClient, tool: string, args: Json = {}): Promise<Reply> =>
  hub.call('execute_tool', { server: 'liar', tool, args });

/** Nothing hangs, and nobody else has noticed. */
async function isWell(hub: HubClient): Promise<void> {
  expect(await echo(hub, 'liar', 'still here')).toBe('still here');
  expect(await echo(hub, 'honest', 'not harmed')).toBe('not harmed');
  expect((await tasksOf(hub)).filter(({ status }) => status === 'working')).toEqual([]);
  expect((await hub.call('get_elicitations')).elicitations).toEqual([]);
}

interface Row {
  manner: Manner;
  tool: string;
  /** What the reply must say. */
  says: RegExp;
  /** Whether it is no lie after all, or one that does no harm. */
  fine?: boolean;
}

const ROWS: Row[] = [
  { manner: 'legacy', tool: 'honest', says: /^in the end$/, fine: true },
  { manner: 'legacy', tool: 'born_completed', says: /^in the end$/, fine: true },
  { manner: 'legacy', tool: 'self_cancelled', says: /cancelled 'self_cancelled': closing time/ },
  { manner: 'legacy', tool: 'plain_answer', says: /^plain$/, fine: true },
  { manner: 'legacy', tool: 'unasked_task', says: /answered with a task, although the request asked for the result/ },
  { manner: 'legacy', tool: 'get_unknown', says: /does not support tasks\/get/ },
  { manner: 'legacy', tool: 'get_silent', says: /did not answer tasks\/get .* 3 times/ },
  { manner: 'legacy', tool: 'result_silent', says: /does not answer tasks\/result/ },
  { manner: 'legacy', tool: 'vanishing', says: /no longer knows its task / },
  { manner: 'legacy', tool: 'other_task', says: /a request for the task .* with 'another'/ },
  { manner: 'legacy', tool: 'unknown_status', says: /unknown status .*pondering/ },
  { manner: 'legacy', tool: 'unknown_status_at_once', says: /unknown status .*pondering/ },
  { manner: 'legacy', tool: 'no_task_id', says: /task without a taskId/ },
  { manner: 'legacy', tool: 'no_task', says: /is not a task/ },

  { manner: 'modern', tool: 'honest', says: /^in the end$/, fine: true },
  { manner: 'modern', tool: 'born_completed', says: /^in the end$/, fine: true },
  { manner: 'modern', tool: 'born_failed', says: /quota used up/ },
  { manner: 'modern', tool: 'self_cancelled', says: /cancelled 'self_cancelled': closing time/ },
  { manner: 'modern', tool: 'get_unknown', says: /does not support tasks\/get/ },
  { manner: 'modern', tool: 'get_silent', says: /did not answer tasks\/get .* 3 times/ },
  { manner: 'modern', tool: 'vanishing', says: /no longer knows its task / },
  { manner: 'modern', tool: 'other_task', says: /a request for the task .* with 'another'/ },
  { manner: 'modern', tool: 'unknown_status', says: /unknown status .*pondering/ },
  { manner: 'modern', tool: 'unknown_status_at_once', says: /unknown status .*pondering/ },
  { manner: 'modern', tool: 'no_task_id', says: /task without a taskId/ },
  { manner: 'modern', tool: 'no_result', says: /completed, but sends no result/ },
  { manner: 'modern', tool: 'no_error', says: /it broke/ },
  { manner: 'modern', tool: 'unknown_result_type', says: /riddle/ },
  { manner: 'modern', tool: 'listed_questions', says: /inputRequests are not an object of requests/ },
  { manner: 'modern', tool: 'listed_round', says: /inputRequests/ },
  { manner: 'modern', tool: 'endless_rounds', says: /more than 100 rounds/ },
  { manner: 'undeclared', tool: 'honest', says: /does not support tasks/ },
];

const CASES = DOORS.flatMap((door) => ROWS.map((row) => ({ door, ...row })));

test.each(CASES)(
  'X-4, B-6: a call of a misbehaving $manner server’s tool $tool ends without harm ($door)',
  async ({ door, ...row }) => {
    const hub = await among(door, row.manner);
    const reply = await execute(hub, row.tool);
    expect(reply.text).toMatch(row.says);
    if (row.fine) expect(reply.isError).toBe(false);
    else expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
    await isWell(hub);
  },
);

const INTERVALS = [0, -1, 0.5, 1e300, '1000', null];
const ODD_POLLS = (['legacy', 'modern'] as const).flatMap((manner) =>
  INTERVALS.map((interval) => ({ manner, interval })),
);

test.each(ODD_POLLS)('X-4, B-6: an unusual poll interval of a $manner server is tolerated: $interval', async (each) => {
  const hub = await among('http', each.manner);
  const call = { server: 'liar', tool: 'odd_poll', args: { interval: each.interval }, timeout_ms: 1500 };
  const reply = await hub.call('execute_tool', call);
  if (each.interval !== 1e300) expect(reply.text).toBe('in the end');
  // It will be asked, but not in the lifetime of this test.
  else expect((await hub.call('cancel_task', { task_id: taskIdOf(reply) })).body).toMatchObject({ success: true });
  await isWell(hub);
});

const LISTLESS = DOORS.flatMap((door) => (['listless', 'listshy'] as const).map((manner) => ({ door, manner })));

test.each(LISTLESS)('X-4, B-6: a tool that a $manner server does not list can be called ($door)', async (each) => {
  const hub = await among(each.door, each.manner);
  await isWell(hub);
});

const SHAPELESS = DOORS.flatMap((door) => ['no_result', 'no_content'].map((tool) => ({ door, tool })));

test.each(SHAPELESS)('X-4, H-3: an invalid tool result ends the call ($tool, $door)', async (each) => {
  const hub = await among(each.door, 'legacy');
  await execute(hub, each.tool);
  await isWell(hub);
});

const BROKEN = (['legacy', 'modern'] as const).flatMap((manner) =>
  DOORS.flatMap((door) =>
    ['broken_question', 'broken_question_task'].flatMap((tool) =>
      Object.keys(BROKEN_QUESTIONS).map((how) => ({ manner, door, tool, how })),
    ),
  ),
);

test.each(BROKEN)('X-4, B-6: a question whose $how ends its call ($manner, $tool, $door)', async (each) => {
  const hub = await among(each.door, each.manner);
  const reply = await execute(hub, each.tool, { how: each.how });
  // A server that asks by a request is told in its answer, and decides by itself what becomes of the call.
  if (each.manner === 'legacy') expect(JSON.parse(reply.text)).toMatchObject({ code: -32_602 });
  else expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(reply.text).toMatch(/elicitation request is invalid/);
  expect(reply.events.filter(({ type }) => type.startsWith('elicitation'))).toEqual([]);
  await isWell(hub);
});

async function answer(hub: HubClient, asked: Reply): Promise<void> {
  const given = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.call('respond_to_elicitation', given)).body).toMatchObject({ success: true });
}

const DEAF: { tool: string; says: RegExp }[] = [
  { tool: 'reused_key', says: /reused the question key 'key'/ },
  { tool: 'deaf', says: /acknowledged the answer to its question 'key', but still asks it/ },
  { tool: 'refusing', says: /no answers today/ },
];

test.each(DOORS.flatMap((door) => DEAF.map((row) => ({ door, ...row }))))(
  'X-4, B-6: an answer that the server rejects ends the call ($tool, $door)',
  async ({ door, tool, says }) => {
    const hub = await among(door, 'modern');
    const asked = await execute(hub, tool);
    await answer(hub, asked);
    const result = await hub.call('get_task_result', { task_id: taskIdOf(asked) });
    expect(result).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
    expect(result.text).toMatch(says);
    await isWell(hub);
  },
);

test.each(DOORS)('B-6: a task that is created with a question is asked at once (%s)', async (door) => {
  const hub = await among(door, 'modern');
  const asked = await execute(hub, 'born_asking');
  await answer(hub, asked);
  const result = await hub.call('get_task_result', { task_id: taskIdOf(asked) });
  expect(result.text).toContain('Ada');
  await isWell(hub);
});

const FLOODS = DOORS.flatMap((door) => (['legacy', 'modern'] as const).map((manner) => ({ door, manner })));

test.each(FLOODS)(
  'X-3, X-4, T-7: a flood of progress from a $manner server does not affect others ($door)',
  async ({ door, manner }) => {
    const hub = await among(door, manner);
    await echo(hub, 'liar');
    await echo(hub, 'honest');
    let heard = 0;
    const call = { server: 'liar', tool: 'flood' };
    const flooded = hub.call('execute_tool', call, { onprogress: () => (heard += 1), timeout: 60_000 });
    await soon(() => heard).toBeGreaterThan(0);
    expect(await echo(hub, 'honest', 'meanwhile')).toBe('meanwhile');
    expect((await flooded).text).toBe('sent 8000');
    await isWell(hub);
  },
  60_000,
);

const STRANGE = DOORS.flatMap((door) =>
  (['stranger', 'parrot', 'ancient'] as const).map((manner) => ({ door, manner })),
);

test.each(STRANGE)(
  'X-4, B-1, H-12: a server of the kind $manner is reported as not an MCP server ($door)',
  async (each) => {
    const hub = await among(each.door, each.manner);
    const reply = await execute(hub, 'echo', { text: 'hello?' });
    expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
    expect(reply.text).toContain("'liar'");
    if (each.manner === 'ancient') expect(reply.text).toContain('1999-12-31');
    expect(await echo(hub, 'honest', 'not harmed')).toBe('not harmed');
    const { body } = await hub.call('get_server_status', { server: 'liar' });
    expect(body).toMatchObject({ connected: false });
  },
);
