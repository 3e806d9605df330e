import assert from 'node:assert/strict';
import { plainArguments } from './form.ts';
import type { Json, Way } from './way.ts';

/** What a client has to do in a scenario. */
export interface Scenario {
  run: (way: Way, context: Json) => Promise<void>;
  /** Between a question of the server and its answer. */
  beforeAnswer?: (way: Way) => Promise<unknown>;
}

interface ToolCall {
  name: string;
  arguments: Json;
}

/** Uses the server as a client does that has no special wishes. */
const useTools: Scenario = {
  run: async (way) => {
    for (const { name, inputSchema } of await way.listTools()) await way.callTool(name, plainArguments(inputSchema));
  },
};

const SCENARIOS: Record<string, Scenario> = {
  'json-schema-ref-no-deref': {
    // The suite's server has tools only to look at.
    run: async (way) => assert.ok((await way.listTools()).length > 0),
  },

  'json-schema-2020-12-preservation': {
    run: async (way) => {
      const tool = (await way.listTools()).find(({ name }) => name === 'json_schema_2020_12_tool');
      await way.callTool('json_schema_echo', { schema: tool?.inputSchema });
    },
  },

  'sep-2322-client-request-state': {
    run: async (way) => {
      await way.listTools();
      assert.match(await text(way, 'test_mrtr_echo_state'), /^echo-state-ok$/);
      assert.match(await text(way, 'test_mrtr_no_state'), /^no-state-ok$/);
      assert.match(await text(way, 'test_mrtr_no_result_type'), /^no-result-type-test-ok$/);
    },
    beforeAnswer: async (way) => way.callTool('test_mrtr_unrelated'),
  },

  'http-standard-headers': {
    run: async (way) => {
      await useTools.run(way, {});
      for (const { uri } of await way.listResources()) await way.readResource(String(uri));
      for (const { name } of await way.listPrompts()) await way.getPrompt(String(name));
    },
  },

  'http-custom-headers': {
    run: async (way, { toolCalls }) => {
      await way.listTools();
      for (const { name, arguments: args } of toolCalls as ToolCall[]) await way.callTool(name, args);
    },
  },
};

export function scenario(name: string): Scenario {
  return SCENARIOS[name] ?? useTools;
}

async function text(way: Way, tool: string): Promise<string> {
  const [block] = (await way.callTool(tool))['content'] as { text?: string }[];
  return block?.text ?? '';
}
