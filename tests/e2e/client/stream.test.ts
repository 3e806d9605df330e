import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { owned } from '../../support/owned.ts';
import { clientOf, errorOf, messagesOf, next, text } from './clients.ts';

async function server(): Promise<{ url: string; release: () => void }> {
  const { url, state } = owned(await startTasksV1Http());
  return { url, release: () => state.release() };
}

test('C-1: every iterator over a call gets all its messages, whenever it starts', async () => {
  const { url, release } = await server();
  const { client, of } = clientOf({ url });
  const stream = client.callToolStream('hold', { text: 'there' });
  const early = [messagesOf(stream), messagesOf(stream)];
  await next(() => of('taskCreated'));
  const midway = messagesOf(stream);
  release();
  const { result } = await stream;
  const late = await messagesOf(stream);
  expect(late.at(-1)).toEqual({ type: 'result', result });
  for (const each of [...early, midway]) expect(await each).toEqual(late);
});

test('C-1: the error of a call reaches both its iterator and its promise', async () => {
  const { url } = await server();
  const { client } = clientOf({ url });
  const stream = client.callToolStream('rpc_error');
  const seen: string[] = [];
  const iterating = (async () => {
    for await (const { type } of stream) seen.push(type);
  })();
  const error = await errorOf(iterating);
  expect(error).toMatchObject({ kind: 'error', code: -32_011 });
  expect(seen[0]).toBe('taskCreated');
  expect(seen).not.toContain('result');
  expect(await errorOf(stream)).toBe(error);
});

test('C-1: a stream behaves like any promise', async () => {
  const { url } = await server();
  const { client } = clientOf({ url });
  const stream = client.callToolStream('echo', { text: 'hi' });
  expect(stream).toBeInstanceOf(Promise);
  const ended: string[] = [];
  const [first, second] = await Promise.all([
    stream.finally(() => ended.push('over')),
    stream.then(({ result }) => result),
  ]);
  expect(first.result).toEqual(text('hi'));
  expect(second).toEqual(text('hi'));
  expect(ended).toEqual(['over']);
});
