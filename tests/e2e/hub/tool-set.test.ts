import { expect, test } from 'vitest';
import { HUB_TOOLS } from '../../../src/north/hub/tools/all.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOfProgram, type ClientKind, type HubClient } from '../../support/hub.ts';

const NAMES =
  'add_server remove_server list_servers get_server_status list_tools execute_tool list_resources ' +
  'list_resource_templates read_resource subscribe_resource unsubscribe_resource list_prompts get_prompt ' +
  'get_notifications get_logs get_sampling_requests respond_to_sampling get_elicitations respond_to_elicitation ' +
  'list_tasks get_task get_task_result cancel_task await_activity';
const SORTED = NAMES.split(' ').toSorted();

const KINDS: ClientKind[] = ['v1', 'v2', 'modern'];

interface ListedTool {
  name: string;
  description: string;
  inputSchema: { type: string; properties: Record<string, unknown>; required?: string[] };
  annotations: Record<string, boolean>;
}

async function toolsOf(hub: HubClient): Promise<ListedTool[]> {
  const { tools } = await hub.request('tools/list');
  return tools as ListedTool[];
}

test('H-1: every client gets the same 24 tools over stdio and HTTP', async () => {
  const { url } = await httpGateway({});
  const lists = [];
  for (const kind of KINDS) {
    lists.push(await toolsOf(await hubOverHttp(url, kind)), await toolsOf(await hubOfProgram({}, {}, kind)));
  }
  const [first, ...others] = lists;
  expect(first?.map(({ name }) => name).toSorted()).toEqual(SORTED);
  expect(SORTED).toHaveLength(24);
  for (const other of others) expect(other).toEqual(first);
});

test('H-2: every parameter is snake_case, and the required ones exist', async () => {
  const { url } = await httpGateway({});
  const tools = await toolsOf(await hubOverHttp(url));
  const parameters = (name: string): string[] =>
    Object.keys(tools.find((tool) => tool.name === name)?.inputSchema.properties ?? {});
  for (const { name, inputSchema } of tools) {
    expect(inputSchema.type).toBe('object');
    for (const parameter of Object.keys(inputSchema.properties)) {
      expect(parameter, `a parameter of ${name}`).toMatch(/^[a-z]+(_[a-z]+)*$/);
    }
  }
  expect(parameters('execute_tool')).toEqual(['server', 'tool', 'args', 'timeout_ms', 'task_ttl_ms']);
  expect(parameters('list_tasks')).toEqual(['server', 'status', 'include_completed']);
  expect(parameters('get_task')).toEqual(['task_id']);
  expect(parameters('get_task_result')).toEqual(['task_id', 'timeout_ms']);
  expect(parameters('cancel_task')).toEqual(['task_id']);
  expect(parameters('await_activity')).toEqual(['timeout_ms', 'last_event_id']);
  expect(parameters('respond_to_elicitation')).toEqual(['request_id', 'action', 'content']);
  expect(parameters('respond_to_sampling')).toContain('request_id');
});

test.each([
  [{}, 50_000],
  [{ calls: { timeoutMs: 7000 } }, 7000],
  // No client may wait for longer than this in one request.
  [{ limits: { waitMs: 3000 } }, 3000],
])('H-3, H-11: with %j, execute_tool has a default timeout of %i ms', async (settings, ms) => {
  const { url } = await httpGateway({}, settings);
  const tools = await toolsOf(await hubOverHttp(url));
  const { timeout_ms } = tools.find(({ name }) => name === 'execute_tool')?.inputSchema.properties ?? {};
  expect(timeout_ms).toMatchObject({ type: 'integer', default: ms });
});

test('H-11: annotations mark the tools that only read and those that are destructive', async () => {
  const { url } = await httpGateway({});
  const tools = await toolsOf(await hubOverHttp(url));
  const having = (hint: string): string[] =>
    tools.filter(({ annotations }) => annotations[hint] === true).map(({ name }) => name);
  const reads = SORTED.filter((name) => /^(get|list|read)_/.test(name) || name === 'await_activity');
  expect(having('readOnlyHint').toSorted()).toEqual(reads);
  expect(having('destructiveHint').toSorted()).toEqual(
    ['add_server', 'cancel_task', 'execute_tool', 'remove_server'].toSorted(),
  );
  for (const { name, annotations } of tools) {
    // Without a word a client must assume the worst, so every tool that writes says whether it destroys.
    if (annotations['readOnlyHint'] !== true) expect(annotations, name).toHaveProperty('destructiveHint');
    expect(annotations, name).toHaveProperty('openWorldHint');
  }
  expect(HUB_TOOLS.every(({ description }) => description.length > 0)).toBe(true);
});
