import type { ToolCallInvocation, ToolCallMessage, ToolCallStream } from './types.ts';

/** The messages of a running call: iterate over them, or await the end. */
export function toolCallStream(
  run: (tell: (message: ToolCallMessage) => void) => Promise<ToolCallInvocation>,
): ToolCallStream {
  const told: ToolCallMessage[] = [];
  let over = false;
  let ring = (): void => {};
  let news = Promise.resolve();
  const renew = (): void => {
    ring();
    news = new Promise((resolve) => {
      ring = resolve;
    });
  };
  renew();
  const ended = run((message) => {
    told.push(message);
    renew();
  }).finally(() => {
    over = true;
    renew();
  });
  // A caller that only iterates gets the error there.
  ended.catch(() => {});
  async function* messages(): AsyncGenerator<ToolCallMessage, void> {
    for (let at = 0; ; at += 1) {
      if (at >= told.length && !over) await news;
      const message = told[at];
      if (message === undefined) break;
      yield message;
    }
    await ended;
  }
  return Object.assign(ended, { [Symbol.asyncIterator]: messages });
}
