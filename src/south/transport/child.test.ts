import { expect, test } from 'vitest';
import { ServerFailure } from '../../lib/server-failure.ts';
import { ChildTransport } from './child.ts';
import { MessageLimit } from './message-size.ts';

test('B-4: the error of an ended child has its exit code, stray output and last error output', async () => {
  const script = "process.stdout.write('hello\\n'); console.error('Error: no key: give one'); process.exitCode = 3";
  const child = new ChildTransport({ command: process.execPath, args: ['-e', script] }, new MessageLimit());
  await child.start();
  expect(await child.exited).toBe('process exited with code 3');
  expect(child.explain(new ServerFailure('closed', 'closed'))).toMatchObject({
    failure: 'exited',
    message:
      'process exited with code 3; it printed to standard output, which is reserved for messages: "hello"; ' +
      'its last output: Error: no key: give one',
  });
});
