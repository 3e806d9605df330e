import { Client as V2Client } from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Stdio } from '@modelcontextprotocol/client/stdio';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { expect, test, vi } from 'vitest';
import { QUICK_PROGRAM } from '../../support/servers.ts';
import { owned } from '../../support/owned.ts';
import { startProgram } from '../../support/program.ts';

const TABLE = { restaurant: 'Chez Ada', people: 3, time: '20:00' };
const MODEL = { role: 'assistant' as const, model: 'test-model', content: { type: 'text' as const, text: 'Short.' } };
const COMMAND = { command: process.execPath, args: [QUICK_PROGRAM, 'demo-server'] };

interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

interface Asked {
  message: string;
  requestedSchema?: unknown;
}

interface Result {
  content: unknown;
  isError?: boolean | undefined;
  structuredContent?: unknown;
}

/** What both SDKs' clients can do here. */
interface Person {
  tools(): Promise<{ name: string; description?: string | undefined; inputSchema: object }[]>;
  call(
    name: string,
    args: Record<string, unknown>,
    options?: { signal?: AbortSignal; onprogress?: (progress: Progress) => void },
  ): Promise<Result>;
  asked: Asked[];
}

type Connect = (answer?: ElicitResult) => Promise<Person>;

const YES: ElicitResult = { action: 'accept', content: { confirm: true, seating: 'bar', note: 'quietly' } };

async function connectV1(answer: ElicitResult = YES): Promise<Person> {
  const client = new V1Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } });
  const asked: Asked[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params);
    return answer;
  });
  client.setRequestHandler(CreateMessageRequestSchema, () => MODEL);
  await owned(client).connect(new V1Stdio(COMMAND));
  return {
    asked,
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, options) =>
      client.request({ method: 'tools/call', params: { name, arguments: args } }, CallToolResultSchema, options),
  };
}

async function connectModern(answer: ElicitResult = YES): Promise<Person> {
  const client = new V2Client(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {} }, sampling: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  const asked: Asked[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params);
    return answer;
  });
  client.setRequestHandler('sampling/createMessage', () => MODEL);
  await owned(client).connect(new V2Stdio(COMMAND));
  return {
    asked,
    tools: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
  };
}

const ERAS: [string, Connect][] = [
  ['a v1 client', connectV1],
  ['a modern client', connectModern],
];

function textOf({ content }: Result): string {
  return (content as { text: string }[]).map(({ text }) => text).join('\n');
}

test.each(ERAS)('H-8: the demo server describes its tools to %s', async (_who, connect) => {
  const tools = await (await connect()).tools();
  expect(tools.map(({ name }) => name)).toEqual(['slow_report', 'book_table', 'summarize', 'cancel_booking']);
  for (const { description } of tools) expect(description?.length).toBeGreaterThan(30);
  expect(tools[0]?.inputSchema).toMatchObject({
    required: ['topic'],
    properties: { seconds: { minimum: 0, maximum: 600, default: 8 } },
  });
});

test.each(ERAS)('T-7: slow_report sends progress to %s', async (_who, connect) => {
  const heard: Progress[] = [];
  const person = await connect();
  const result = await person.call(
    'slow_report',
    { topic: 'tea', seconds: 1.2 },
    { onprogress: (progress) => void heard.push(progress) },
  );
  expect(textOf(result)).toContain('Report on tea');
  expect(heard.map(({ progress }) => progress)).toEqual([0, 0.5, 1]);
  expect(heard.at(-1)).toMatchObject({ total: 1.2, message: 'writing it down' });
});

test.each(ERAS)('B-6: book_table asks %s for confirmation and books', async (_who, connect) => {
  const person = await connect();
  const result = await person.call('book_table', TABLE);
  expect(person.asked).toHaveLength(1);
  expect(person.asked[0]).toMatchObject({
    message: 'Book a table for 3 at Chez Ada, 20:00?',
    requestedSchema: { properties: { confirm: { type: 'boolean' } }, required: ['confirm'] },
  });
  expect(textOf(result)).toBe('Booked: Chez Ada, 20:00, 3 people, bar. Reference DEMO-3CHE. Your note: quietly');
  expect(result.structuredContent).toEqual({ booked: true, reference: 'DEMO-3CHE' });
});

const REFUSALS: [string, ElicitResult][] = [
  ['is not confirmed', { action: 'accept', content: { confirm: false } }],
  ['is declined', { action: 'decline' }],
  ['is dismissed', { action: 'cancel' }],
];

test.each(ERAS.flatMap(([who, connect]) => REFUSALS.map(([how, answer]) => [how, who, connect, answer] as const)))(
  'B-6: a booking that %s by %s is not made',
  async (_how, _who, connect, answer) => {
    const result = await (await connect(answer)).call('book_table', TABLE);
    expect(textOf(result)).toMatch(/^Not booked: /);
    expect(result.structuredContent).toEqual({ booked: false });
    expect(result.isError ?? false).toBe(false);
  },
);

test.each(ERAS)('B-6: summarize uses the model of %s', async (_who, connect) => {
  expect(textOf(await (await connect()).call('summarize', { text: 'A long text.' }))).toBe(
    'Summary by test-model: Short.',
  );
});

const WRONG: [string, Record<string, unknown>, string][] = [
  ['slow_report', { seconds: 1 }, 'topic'],
  ['slow_report', { topic: 'tea', seconds: 601 }, 'seconds'],
  ['slow_report', { topic: 'tea', seconds: -1 }, 'seconds'],
  ['book_table', { ...TABLE, people: 0 }, 'people'],
  ['book_table', { ...TABLE, people: 2.5 }, 'people'],
  ['summarize', { text: '' }, 'text'],
];

test.each(ERAS)('X-4: wrong arguments of %s get an error that names the argument', async (_who, connect) => {
  const person = await connect();
  for (const [tool, args, field] of WRONG) {
    const result = await person.call(tool, args);
    expect(result.isError, `${tool} ${JSON.stringify(args)}`).toBe(true);
    expect(textOf(result)).toContain(field);
  }
  expect(person.asked).toEqual([]);
});

test('X-4: book_table returns an error to a client without elicitation', async () => {
  const client = new V1Client({ name: 'test', version: '1' });
  await owned(client).connect(new V1Stdio(COMMAND));
  const result = await client.request(
    { method: 'tools/call', params: { name: 'book_table', arguments: TABLE } },
    CallToolResultSchema,
  );
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain('elicitation');
});

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The demo server with its wire in the open, at work on a report that would take ten minutes. */
async function wireWithReport(modern = false) {
  const server = await startProgram(['demo-server']);
  const send = (message: object): void => {
    server.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  const received = (part: string): string[] => server.stdout.filter((line) => line.includes(part));
  const until = (part: string): Promise<void> =>
    vi.waitFor(() => expect(received(part)).not.toEqual([]), { timeout: 10_000 });
  const call = (id: number, seconds: number, progressToken?: string): void => {
    const _meta = { ...(modern && ENVELOPE), ...(progressToken !== undefined && { progressToken }) };
    const params = { name: 'slow_report', arguments: { topic: 'tea', seconds }, _meta };
    send({ id, method: 'tools/call', params });
  };
  if (!modern) {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    send({ id: 'first', method: 'initialize', params });
    await until('"id":"first"');
    send({ method: 'notifications/initialized' });
  }
  call(1, 600, 'long');
  await until('"long"');
  return { server, send, received, until, call };
}

test.each([false, true])('H-6: a cancelled report stops (modern: %s)', async (modern) => {
  const { send, received, until, call } = await wireWithReport(modern);
  send({
    method: 'notifications/cancelled',
    params: { requestId: 1, reason: 'enough', ...(modern && { _meta: ENVELOPE }) },
  });
  call(2, 0);
  await until('"id":2');
  const before = received('"long"').length;
  // Another report is the clock: in its time the first one would have reported twice.
  call(3, 1.2);
  await until('"id":3');
  expect(received('"long"')).toHaveLength(before);
  expect(received('"id":1,')).toEqual([]);
});

test('S-4: the demo server exits when its input ends, also during a call', async () => {
  const { server } = await wireWithReport();
  server.child.stdin.end();
  expect(await server.exited).toBe(0);
  expect(server.stderr).toEqual([]);
});
