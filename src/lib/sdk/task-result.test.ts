import { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { scriptedServer } from '../../../tests/support/scripted-server.ts';
import { ANY_RESULT } from './any-result.ts';
import { acceptableResponse, nativeTask } from './task-result.ts';

const TASK = { resultType: 'task', taskId: 't', status: 'working', 'x-vendor': 1, _meta: { 'x/y': 2 } };

async function answerOf(result: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { transport } = await scriptedServer('modern', () => ({ result }));
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  try {
    return await client.request({ method: 'tools/call', params: { name: 'x' } }, ANY_RESULT);
  } finally {
    await client.close();
  }
}

const accepted = (result: Record<string, unknown>): Record<string, unknown> => {
  const message = acceptableResponse({ jsonrpc: '2.0', id: 1, result }, 1, result);
  return (message as unknown as { result: Record<string, unknown> }).result;
};

test('T-9: the SDK rejects a task in place of a result, and takes it wrapped', async () => {
  await expect(answerOf(TASK)).rejects.toThrow();
  const { resultType: _resultType, _meta, ...task } = TASK;
  const answer = await answerOf(accepted(TASK));
  expect(nativeTask(answer)).toEqual(task);
  expect(answer).toMatchObject({ _meta });
});

test('B-1: the SDK rejects a result without a type, and takes it as complete', async () => {
  await expect(answerOf({ content: [] })).rejects.toThrow();
  expect(await answerOf(accepted({ content: [] }))).toMatchObject({ content: [] });
});
