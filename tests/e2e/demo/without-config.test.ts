import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { PROGRAM } from '../../support/gateway.ts';
import { hubOverHttp, takeApart, taskIdOf, type ClientKind, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { serveProgram } from '../program/built.ts';

type Call = (tool: string, args?: Json) => Promise<Reply>;

const KINDS: ClientKind[] = ['v1', 'v2', 'modern'];

/** The story by hand, with the answers of somebody who changes their mind. */
async function tryOut(call: Call): Promise<void> {
  const { body } = await call('list_servers');
  expect((body['servers'] as Json[]).map(({ name }) => name)).toEqual(['demo']);

  const report = await call('execute_tool', {
    server: 'demo',
    tool: 'slow_report',
    args: { topic: 'rain', seconds: 1 },
    timeout_ms: 100,
  });
  const reportId = taskIdOf(report);

  const booking = await call('execute_tool', {
    server: 'demo',
    tool: 'book_table',
    args: { restaurant: 'Ada', people: 2, time: '19:30' },
  });
  const [question] = booking.elicitations;
  expect(question).toMatchObject({ server: 'demo', message: 'Book a table for 2 at Ada, 19:30?' });
  const wrong = await call('respond_to_elicitation', {
    request_id: question?.requestId,
    action: 'accept',
    content: { confirm: 'perhaps' },
  });
  expect(wrong.code).toBe('TOOL_ERR_INVALID_ANSWER');
  await call('respond_to_elicitation', {
    request_id: question?.requestId,
    action: 'accept',
    content: { confirm: true, seating: 'outside' },
  });
  const booked = await call('get_task_result', { task_id: taskIdOf(booking) });
  expect(booked.text).toBe('Booked: Ada, 19:30, 2 people, outside. Reference DEMO-2ADA.');
  expect(booked.raw['structuredContent']).toEqual({ booked: true, reference: 'DEMO-2ADA' });

  const summary = await call('execute_tool', { server: 'demo', tool: 'summarize', args: { text: 'Rain falls.' } });
  const [request] = summary.samplings;
  await call('respond_to_sampling', { request_id: request?.requestId, content: 'It rains.', model: 'me' });
  expect((await call('get_task_result', { task_id: taskIdOf(summary) })).text).toBe('Summary by me: It rains.');

  expect((await call('get_task_result', { task_id: reportId })).text).toContain('Report on rain');
}

test.each(KINDS)('H-3, H-6, H-9: without a config file, serve has the demo server (%s)', async (kind) => {
  const { url } = await serveProgram(['--port', '0', '--store', ':memory:']);
  const hub = await hubOverHttp(url, kind);
  await tryOut((tool, args) => hub.call(tool, args));
});

test('H-3, H-6, H-9: without a config file, stdio has the demo server', async () => {
  const client = owned(new Client({ name: 'test', version: '1.0.0' }));
  const args = [PROGRAM, '--store', ':memory:', '--log-level', 'silent'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  await tryOut(async (tool, given = {}) =>
    takeApart(await client.request({ method: 'tools/call', params: { name: tool, arguments: given } }, ResultSchema)),
  );
});

test('H-6, X-4: a running report can be cancelled, and wrong arguments get the error of the server', async () => {
  const { url } = await serveProgram(['--port', '0', '--store', ':memory:']);
  const hub = await hubOverHttp(url);
  const args = { topic: 'rain', seconds: 600 };
  const slow = await hub.call('execute_tool', { server: 'demo', tool: 'slow_report', args, timeout_ms: 50 });
  const { body } = await hub.call('cancel_task', { task_id: taskIdOf(slow) });
  expect(body['success']).toBe(true);

  const wrong = await hub.call('execute_tool', { server: 'demo', tool: 'book_table', args: { people: 'many' } });
  expect(wrong.isError).toBe(true);
  expect(wrong.text).toContain('people');
  expect(wrong.elicitations).toEqual([]);
});
