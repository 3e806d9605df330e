/** What is said of tasks is what the two generations of the protocol have for it. */
import {
  CancelTaskResultV1Schema,
  CreateTaskResultV1Schema,
  GetTaskResultV1Schema,
  ServerTaskCapabilitiesV1Schema,
  ToolV1Schema,
} from '@modelcontextprotocol/ext-tasks/core/v1';
import {
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  DetailedTaskV2Schema,
  InputRequiredCallToolResultV2Schema,
  ServerTaskCapabilityEnvelopeV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { INITIALIZE, post } from '../../../support/raw-http.ts';
import { answeredIn, resultIn } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS } from '../modern-wire.ts';

const SERVERS = { plain: startV1Http, core: startTasksV1Http, ext: startTasksV2Http };

async function behind(start: () => Promise<{ url: string; close(): Promise<void> }>): Promise<string> {
  const server = owned(await start());
  const { url } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: 50 } });
  return `${url}/one`;
}

test.each(Object.entries(SERVERS))(
  'D-3: task messages follow the 2025-11-25 schema, with a server of the kind %s',
  async (_kind, start) => {
    const direct = await behind(start);
    const { capabilities } = resultIn(answeredIn(await post(direct, INITIALIZE)));
    expect(ServerTaskCapabilitiesV1Schema.parse((capabilities as Json)['tasks'])).toEqual({
      list: {},
      cancel: {},
      requests: { tools: { call: {} } },
    });
    const wire = await LegacyWire.open(direct);
    const { tools } = await wire.request('tools/list');
    for (const tool of tools as Json[]) {
      expect(ToolV1Schema.parse(tool)).toMatchObject({ execution: { taskSupport: 'optional' } });
    }
    const created = CreateTaskResultV1Schema.parse(await wire.call('slow', { ms: 600_000 }, { task: { ttl: 60_000 } }));
    expect(created.task).toMatchObject({ status: 'working', ttl: 60_000 });
    const { taskId } = created.task;
    GetTaskResultV1Schema.parse(await wire.request('tasks/get', { taskId }));
    expect(CancelTaskResultV1Schema.parse(await wire.request('tasks/cancel', { taskId })).status).toBe('cancelled');
    const failed = await wire.begin('rpc_error');
    await wire.error('tasks/result', { taskId: failed.taskId });
    expect(GetTaskResultV1Schema.parse(await wire.request('tasks/get', { taskId: failed.taskId })).status).toBe(
      'failed',
    );
  },
);

test.each(Object.entries(SERVERS))(
  'D-4: task messages follow the 2026-07-28 schema, with a server of the kind %s',
  async (_kind, start) => {
    const wire = new ModernWire(await behind(start));
    const { capabilities } = await wire.request('server/discover');
    ServerTaskCapabilityEnvelopeV2Schema.parse(capabilities);
    const { taskId } = CreateTaskResultV2Schema.parse(await wire.call('slow', { ms: 600_000 }));
    expect(DetailedTaskV2Schema.parse(await wire.request('tasks/get', { taskId })).status).toBe('working');
    CancelTaskResultV2Schema.parse(await wire.request('tasks/cancel', { taskId }));
    expect(DetailedTaskV2Schema.parse(await wire.task(taskId, 'cancelled')).status).toBe('cancelled');
    const done = await wire.call('slow', { ms: 300, text: 'done' });
    expect(DetailedTaskV2Schema.parse(await wire.task(done['taskId'], 'completed'))).toMatchObject({
      result: { content: [{ text: 'done' }] },
    });
  },
);

test.each(Object.entries(SERVERS))(
  'D-4: questions of tasks and calls follow the 2026-07-28 schema, with a server of the kind %s',
  async (_kind, start) => {
    const wire = new ModernWire(await behind(start));
    const answer = await wire.call('ask');
    const asked =
      answer['resultType'] === 'task'
        ? DetailedTaskV2Schema.parse(await wire.task(answer['taskId'], 'input_required'))
        : InputRequiredCallToolResultV2Schema.parse(answer);
    const { key } = onlyQuestion(asked as never);
    const inputResponses = { [key]: accept({ name: 'Ada' }) };
    if (answer['resultType'] === 'task') {
      const { taskId } = answer;
      UpdateTaskResultV2Schema.parse(await wire.request('tasks/update', { taskId, inputResponses }));
      DetailedTaskV2Schema.parse(await wire.task(taskId, 'completed'));
      return;
    }
    const { requestState } = answer;
    expect(await wire.call('ask', {}, { requestState, inputResponses })).toMatchObject({
      content: [{ text: 'Hello Ada' }],
    });
  },
);

test('D-4: a client without the tasks extension gets no task, however long the call takes', async () => {
  const direct = await behind(startV1Http);
  const rounds = new ModernWire(direct, { capabilities: ROUNDS });
  expect(await rounds.call('slow', { ms: 500, text: 'waited' })).toMatchObject({
    resultType: 'complete',
    content: [{ text: 'waited' }],
  });
});

test.each(Object.entries(SERVERS))(
  'D-3, D-5: a 2025-06-18 client sees no task capability or field, with a server of the kind %s',
  async (_kind, start) => {
    const direct = await behind(start);
    const { params } = INITIALIZE;
    const opened = await post(direct, { ...INITIALIZE, params: { ...params, protocolVersion: '2025-06-18' } });
    const { protocolVersion, capabilities } = resultIn(answeredIn(opened));
    expect({ protocolVersion, capabilities }).toMatchObject({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
    });
    expect(capabilities).not.toHaveProperty('tasks');
    const wire = new LegacyWire(direct, String(opened.headers['mcp-session-id']));
    const { tools } = await wire.request('tools/list');
    for (const tool of tools as Json[]) expect(tool['execution']).toEqual(undefined);
  },
);
