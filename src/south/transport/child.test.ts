import { expect, test, vi } from 'vitest';
import { ServerFailure } from '../../lib/server-failure.ts';
import { ChildTransport } from './child.ts';
import { MessageLimit } from './message-size.ts';
import { LARGE_TEXT, parseInTurns } from '../../lib/json-in-turns.ts';

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

// The third result takes longer to parse than the process takes to end.
test('B-1, B-4: large and small messages arrive in order, also if the child exits right after it wrote them', async () => {
  const script = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const text = 'ü'.repeat(${LARGE_TEXT});
    send({ method: 'before' });
    send({ id: 1, result: { text } });
    send({ method: 'between' });
    send({ id: 2, result: { text, number: 0 } });
    process.stdout.write('{"text":"' + text + '\\n');
    send({ method: 'after' });
    process.stdout.write('\\n \\r\\n');
    process.stdout.write('{"jsonrpc":"2.0","id":3,"result":{"list":[' + '9007199254740993,'.repeat(500000) + '1]}}\\n');
    for (let left = 300; left > 0; left -= 1) send({ method: 'many', params: { text: 'x'.repeat(500) } });
    send({ method: 'last' });
  `;
  const child = new ChildTransport({ command: process.execPath, args: ['-e', script] }, new MessageLimit());
  const seen: unknown[] = [];
  let many = 0;
  child.onmessage = (message) => {
    const name = 'method' in message ? message.method : message.id;
    if (name === 'many') many += 1;
    else seen.push(name);
  };
  child.onnoise = (line, stream) => void seen.push(`${stream} ${line.slice(0, 9)}`);
  const closed = new Promise<void>((resolve) => {
    child.onclose = () => {
      seen.push('closed');
      resolve();
    };
  });
  await child.start();
  await closed;
  expect(seen).toEqual(['before', 1, 'between', 2, 'stdout {"text":"', 'after', 3, 'last', 'closed']);
  expect(many).toBe(300);
});

test('B-1, B-4, X-3: the last output of an exited child is read although there is no room for large messages', async () => {
  // A part of it is still in the pipe when the child exits.
  const script = `
    process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{"text":"' + 'x'.repeat(420000) + '"}}\\n');
    process.stdout.write('{"jsonrpc":"2.0","id":2,"result":{}}\\n');
  `;
  const limit = new MessageLimit(1_000_000);
  const onHandled = limit.handling(20_000_000);
  const child = new ChildTransport({ command: process.execPath, args: ['-e', script] }, limit);
  const seen: unknown[] = [];
  child.onmessage = (message) => void seen.push('id' in message && message.id);
  const closed = new Promise<void>((resolve) => {
    child.onclose = resolve;
  });
  await child.start();
  await closed;
  expect(seen).toEqual([1, 2]);
  onHandled?.();
  expect(limit.receiving.size).toBe(0);
});

test('B-4: a process that an exited child has left behind cannot keep it open by writing large messages', async () => {
  const list = '"9007199254740993,".repeat(80000)';
  const endless = `const line = '{"jsonrpc":"2.0","method":"n","params":{"l":[' + ${list} + '1]}}\\n';
    (function next(error) { if (error) process.exit(); process.stdout.write(line, next); })();`;
  const script = `
    const options = { detached: true, stdio: ['ignore', 'inherit', 'inherit'] };
    require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(endless)}], options).unref();
    process.stdin.resume();
    setTimeout(() => process.exit(), 300);
  `;
  const child = new ChildTransport({ command: process.execPath, args: ['-e', script] }, new MessageLimit());
  await child.start();
  expect(await child.exited).toBe('process exited with code 0');
  await child.close();
});

test('B-1, X-3: the output of a child is not read while there is no room for it', async () => {
  const script = `process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{"text":"' + 'x'.repeat(900000) + '"}}\\n')`;
  const limit = new MessageLimit(1_000_000);
  const onHandled = limit.handling(20_000_000);
  const child = new ChildTransport({ command: process.execPath, args: ['-e', script] }, limit);
  const seen: unknown[] = [];
  child.onmessage = (message) => void seen.push('id' in message && message.id);
  await child.start();
  await expect.poll(() => child.isBehind).toBe(true);
  expect(seen).toEqual([]);
  expect(child.received).toBeLessThan(900_000);
  onHandled?.();
  expect(child.isBehind).toBe(false);
  await child.exited;
  expect(seen).toEqual([1]);
  expect(child.received).toBeGreaterThan(900_000);
});

test('S-4: closing sends no signals to a child that has exited, although its last message is still being parsed', async () => {
  const script = `
    const line = '{"jsonrpc":"2.0","id":1,"result":{"text":"' + 'x'.repeat(1200000) + '"}}\\n';
    process.stdin.once('data', () => process.stdout.write(line, () => process.exit()));
    process.stdout.write('{"jsonrpc":"2.0","id":0,"result":{}}\\n');
  `;
  const child = new ChildTransport({ command: process.execPath, args: ['-e', script] }, new MessageLimit());
  const seen: unknown[] = [];
  child.onmessage = (message) => void seen.push('id' in message && message.id);
  await child.start();
  await expect.poll(() => seen).toEqual([0]);
  // The large message waits until this text has been parsed, which takes far longer than to write the message and to exit.
  const earlier = parseInTurns(`[${'9007199254740993,'.repeat(500_000)}1]`, {}, 1000);
  await child.send({ jsonrpc: '2.0', method: 'go' });
  const { pid } = child;
  if (pid === null) throw new Error('the child has no process');
  // Until its exit has been handled, which is when its id becomes free.
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { interval: 5, timeout: 20_000 });
  expect(child.isBehind).toBe(true);
  const kill = vi.spyOn(process, 'kill');
  const { setTimeout: set } = globalThis;
  let graces = 0;
  const setTimer = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    if (ms === 1000) graces += 1;
    return set(run, ms === 1000 ? 0 : ms);
  }) as typeof setTimeout);
  try {
    const closing = child.close();
    // Before SIGTERM, and before SIGKILL.
    await expect.poll(() => graces, { interval: 1 }).toBe(2);
    expect(seen).toEqual([0]);
    await earlier;
    await closing;
    expect(seen).toEqual([0, 1]);
    expect(kill).not.toHaveBeenCalled();
  } finally {
    setTimer.mockRestore();
    kill.mockRestore();
  }
});
