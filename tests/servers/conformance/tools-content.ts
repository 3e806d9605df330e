/** Tools that ask nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { PNG, WAV } from '../shared/rich.ts';
import { Fault, MISSING_CAPABILITY, type Call, type Json } from './call.ts';
import { text, tool, type Tool } from './tool.ts';

const STEP_MS = 50;

const IMAGE = { type: 'image', data: PNG, mimeType: 'image/png' };

function embedded(uri: string, mimeType: string, content: string): Json {
  return { type: 'resource', resource: { uri, mimeType, text: content } };
}

/** With time in between, for a client that loses what comes together with the result. */
async function reportProgress(_args: Json, call: Call): Promise<Json> {
  for (const progress of [0, 50, 100]) {
    await call.progress(progress, 100);
    await delay(STEP_MS);
  }
  return text('Went all the way');
}

async function writeLog(_args: Json, call: Call): Promise<Json> {
  for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await call.log(line);
  }
  return text('Logged');
}

export const CONTENT_TOOLS: readonly Tool[] = [
  tool({
    name: 'test_simple_text',
    description: 'A text',
    run: async () => text('This is a simple text response for testing.'),
  }),
  tool({
    name: 'test_image_content',
    description: 'An image',
    run: async () => ({ content: [IMAGE] }),
  }),
  tool({
    name: 'test_audio_content',
    description: 'A sound',
    run: async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  }),
  tool({
    name: 'test_embedded_resource',
    description: 'A resource',
    run: async () => ({
      content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  }),
  tool({
    name: 'test_multiple_content_types',
    description: 'A text, an image and a resource',
    run: async () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        IMAGE,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  }),
  tool({
    name: 'test_error_handling',
    description: 'A tool error',
    run: async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  }),
  tool({ name: 'test_tool_with_logging', description: 'Writes to the log', run: writeLog }),
  tool({ name: 'test_logging_tool', description: 'Writes to the log', run: writeLog }),
  tool({ name: 'test_tool_with_progress', description: 'Reports progress', run: reportProgress }),
  tool({
    name: 'test_missing_capability',
    description: 'Not for clients that cannot sample',
    run: async (_args, { capabilities }) => {
      if (capabilities['sampling'] !== undefined) return text('Success');
      const required = { requiredCapabilities: { sampling: {} } };
      throw new Fault(MISSING_CAPABILITY, 'This tool needs the sampling capability', required);
    },
  }),
  ...(['tool', 'prompt'] as const).map((what) =>
    tool({
      name: `test_trigger_${what}_change`,
      description: `Says that the list of ${what}s changed`,
      run: async (_args, call) => {
        await call.changed(`${what}s`);
        return text('Told');
      },
    }),
  ),
  tool({
    name: 'json_schema_2020_12_tool',
    description: 'Has an input schema with everything that a schema may have',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: async (args) => text(JSON.stringify(args)),
  }),
];
