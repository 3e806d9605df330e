import { expect, test } from 'vitest';
import { toolCallStream } from './stream.ts';
import type { ToolCallInvocation, ToolCallMessage, ToolCallStream } from './types.ts';

const END: ToolCallInvocation = {
  toolName: 'work',
  params: {},
  result: { content: [] },
  success: true,
  timestamp: new Date(0),
};
const message = (text: string): ToolCallMessage => ({ type: 'result', result: { content: [{ type: 'text', text }] } });

/** A stream whose messages the test tells. */
function stream() {
  let tell = (_message: ToolCallMessage): void => {};
  let end = (_invocation: ToolCallInvocation): void => {};
  let fail = (_error: Error): void => {};
  const messages = toolCallStream((teller) => {
    tell = teller;
    return new Promise((resolve, reject) => {
      end = resolve;
      fail = reject;
    });
  });
  return { messages, tell, end, fail };
}

async function all(messages: ToolCallStream): Promise<ToolCallMessage[]> {
  const read: ToolCallMessage[] = [];
  for await (const each of messages) read.push(each);
  return read;
}

test('C-1: a call can be awaited or iterated by message, also from the beginning after its end', async () => {
  const { messages, tell, end } = stream();
  tell(message('1'));
  const reading = all(messages);
  tell(message('2'));
  end(END);
  expect(await messages).toBe(END);
  expect(await reading).toEqual([message('1'), message('2')]);
  expect(await all(messages)).toEqual([message('1'), message('2')]);
});

test('C-1: a reader waits for the next message', async () => {
  const { messages, tell, end } = stream();
  const reader = messages[Symbol.asyncIterator]();
  const first = reader.next();
  tell(message('1'));
  expect(await first).toEqual({ value: message('1'), done: false });
  end(END);
  expect(await reader.next()).toEqual({ value: undefined, done: true });
});

test('C-1: an error reaches the reader after the last message', async () => {
  const { messages, tell, fail } = stream();
  tell(message('1'));
  const reader = messages[Symbol.asyncIterator]();
  expect((await reader.next()).done).toBe(false);
  fail(new Error('lost'));
  await expect(reader.next()).rejects.toThrow('lost');
});
