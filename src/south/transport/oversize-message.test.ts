import { expect, test } from 'vitest';
import { OversizeMessage } from './oversize-message.ts';

function about(...pieces: string[]): ReturnType<OversizeMessage['about']> {
  const [first = '', ...more] = pieces;
  const message = new OversizeMessage([first], 'too large');
  for (const piece of more) message.append(piece);
  return message.about();
}

test('X-3: the ID of a message that is too large is found before or after the long member', () => {
  const long = 'x'.repeat(5000);
  expect(about(`{"jsonrpc":"2.0","id":7,"result":"${long}`, '"}')).toEqual({ id: 7, isRequest: false });
  expect(about(`{"method":"m","params":"${long}`, `${long}","id":"a"}`)).toEqual({ id: 'a', isRequest: true });
});

test('X-4: text that only resembles members of a message gives no ID', () => {
  const long = 'x'.repeat(5000);
  expect(about(`{"jsonrpc":"2.0","id":007,"result":"${long}`)).toEqual({ isRequest: false });
  expect(about(`{"id":"\\q","result":"${long}`)).toEqual({ isRequest: false });
});
