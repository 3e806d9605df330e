/** The same server as a program: one message a line, as cheap as can be. Argument: the era it speaks. */
import { respond, type Message } from './echo.ts';

const modern = process.argv[2] === 'modern';
let rest = '';

process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  const messages = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Message);
  const answers = messages.filter(({ id }) => id !== undefined).map((message) => `${respond(message, modern)}\n`);
  if (answers.length > 0) process.stdout.write(answers.join(''));
});
