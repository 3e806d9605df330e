import type { ToolCallInvocation, ToolCallMessage, ToolCallStream } from './types.ts';

/** What a running call tells, for one who iterates over it and one who only awaits its end. */
export function toolCallStream(
  run: (tell: (message: ToolCallMessage) => void) => Promise<ToolCallInvocation>,
): ToolCallStream {
  const told: ToolCallMessage[] = [];
  let over = false;
  let wake = (): void => {};
  const ended = run((message) => {
    told.push(message);
    wake();
  }).finally(() => {
    over = true;
    wake();
  });
  // Whoever only iterates sees the error there.
  ended.catch(() => {});
  const more = async (): Promise<void> =>
    new Promise((resolve) => {
      if (over) resolve();
      else wake = resolve;
    });
  async function* messages(): AsyncGenerator<ToolCallMessage, void> {
    for (let at = 0; ; at += 1) {
      if (at >= told.length) await more();
      const message = told[at];
      if (message === undefined) break;
      yield message;
    }
    await ended;
  }
  return Object.assign(ended, { [Symbol.asyncIterator]: messages });
}
