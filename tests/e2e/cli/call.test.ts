import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { richResult } from '../../servers/shared/rich.ts';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { shellInTerminal } from '../../support/terminal.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';

const KINDS = [
  ['initialize-based', startV1Http],
  ['2026-07-28', startV2Http],
  ['2025-11-25 with tasks', startTasksV1Http],
  ['2026-07-28 with tasks', startTasksV2Http],
] as const;

const UNANSWERED = 'a question was left unanswered: use --answer, or call the tool from a terminal';

test.each(KINDS)('C-3: call runs a tool of a server (%s) and prints its text', async (_kind, start) => {
  const { url } = owned(await start());
  expect(await runCommand(['call', url, 'echo', 'text=hello world'])).toEqual({
    code: 0,
    stdout: 'hello world',
    stderr: '',
  });
  expect(await runCommand(['call', url, 'slow', 'ms=50', 'text=slow'])).toMatchObject({ code: 0, stdout: 'slow' });
});

test.each(KINDS)('C-3: --answer answers the questions of a server (%s)', async (_kind, start) => {
  const { url } = owned(await start());
  const answers = ['--answer', '{"name":"Ada"}', '--answer', '{"action":"accept","content":{"age":36}}'];
  const answered = await runCommand(['call', url, 'ask_twice', ...answers]);
  expect(answered).toMatchObject({ code: 0, stdout: 'Hello Ada, 36' });
  expect(answered.stderr).toContain('asks: What is your name?');
  const declined = await runCommand(['call', url, 'ask', '--answer', '{"action":"decline"}']);
  expect(declined).toMatchObject({ code: 0, stdout: 'declined' });
});

test.each(KINDS)(
  'C-3: without a terminal or --answer a question (%s) is cancelled, with exit code 6 and a hint to --answer',
  async (_kind, start) => {
    const { url } = owned(await start());
    const { code, stdout, stderr } = await runCommand(['call', url, 'ask']);
    expect({ code, stdout }).toEqual({ code: 6, stdout: 'cancelled' });
    expect(stderr).toContain('asks: What is your name?');
    expect(stderr).toContain(`--answer '{"name":"…"}'`);
    expect(stderr.split('\n').at(-1)).toBe(`meanwhile: ${UNANSWERED}`);
    const json = await runCommand(['call', url, 'ask', '--json']);
    expect(json.code).toBe(6);
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: { code: 'unanswered', message: UNANSWERED, result: { content: [{ text: 'cancelled' }] } },
    });
    // Whoever means to cancel says so, and has a result.
    const meant = await runCommand(['call', url, 'ask', '--answer', '{"action":"cancel"}']);
    expect(meant).toMatchObject({ code: 0, stdout: 'cancelled' });
  },
);

test.each(KINDS)('C-3: --answer answers a sampling request (%s)', async (_kind, start) => {
  const { url } = owned(await start());
  const answered = await runCommand(['call', url, 'sample', 'prompt=Why?', '--answer', '{"text":"Because."}']);
  expect(answered.code).toBe(0);
  expect(JSON.parse(answered.stdout)).toMatchObject({ role: 'assistant', content: { text: 'Because.' } });
});

test.each(KINDS)(
  'C-3: without a terminal or --answer a sampling request (%s) is refused, with exit code 6',
  async (_kind, start) => {
    const { url } = owned(await start());
    const refused = await runCommand(['call', url, 'sample', 'prompt=Why?']);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toContain('user: Why?');
    expect(refused.stderr).toContain(`meanwhile: ${UNANSWERED}`);
    expect(refused.stderr).toContain(`--answer '{"text":"…"}'`);
  },
);

test('C-3: --json prints the unchanged result of the server and nothing else', async () => {
  const { url } = owned(await startV1Http());
  const { code, stdout, stderr } = await runCommand(['call', url, 'rich', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual(richResult());
});

test('C-3: content that is not text is printed as one line, or saved with --out', async () => {
  const { url } = owned(await startV1Http());
  const { stdout } = await runCommand(['call', url, 'rich']);
  expect(stdout.split('\n').slice(0, 3)).toEqual(['rich ✓', '[image/png, 70 bytes]', '[audio/wav, 44 bytes]']);
  const out = join(await temporaryFolder(), 'files');
  const saved = await runCommand(['call', url, 'rich', '--out', out]);
  expect(saved.stdout).toContain(join(out, 'rich-1.png'));
  expect(await readdir(out)).toEqual(['rich-1.png', 'rich-2.wav', 'rich-3.bin']);
  expect([...(await readFile(join(out, 'rich-3.bin')))]).toEqual([0, 1, 2, 255]);
});

test.each(KINDS)('C-3, T-5: a tool result with isError (%s) is printed, with exit code 3', async (_kind, start) => {
  const { url } = owned(await start());
  expect(await runCommand(['call', url, 'fail'])).toEqual({
    code: 3,
    stdout: 'disk on fire',
    stderr: 'meanwhile: the tool reported an error',
  });
  const { code, stdout } = await runCommand(['call', url, 'fail', '--json']);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ isError: true, content: [{ text: 'disk on fire' }] });
});

test.each([
  ['initialize-based', startV1Http],
  ['2025-11-25 with tasks', startTasksV1Http],
  ['2026-07-28 with tasks', startTasksV2Http],
] as const)('C-3, T-5: an error response of a server (%s) exits with 1', async (_kind, start) => {
  const { url } = owned(await start());
  const { code, stdout, stderr } = await runCommand(['call', url, 'rpc_error', '--json']);
  expect(code).toBe(1);
  expect(stderr).toContain('quota used up');
  expect(JSON.parse(stdout)).toEqual({
    error: {
      code: 'server_error',
      message: expect.stringContaining('quota used up'),
      rpcCode: -32011,
      data: { retryAfter: 7 },
    },
  });
});

test('C-3: a server that is unreachable or disconnects exits with 1 and an explanation', async () => {
  const away = await runCommand(['call', 'http://127.0.0.1:1/mcp', 'echo', 'text=x']);
  expect(away.code).toBe(1);
  expect(away.stderr).toContain('cannot reach http://127.0.0.1:1/mcp');
  expect(away.stderr).toContain('no program listens there');
  const json = await runCommand(['call', 'http://127.0.0.1:1/mcp', 'echo', 'text=x', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'unreachable' } });

  const missing = await runCommand(['call', 'no-such-program --flag', 'echo']);
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain('check that the program is installed and on the PATH');
});

test('C-3: --timeout cancels the call, on the server too, with exit code 5', async () => {
  const server = owned(await startV1Http());
  const { code, stdout, stderr } = await runCommand([
    'call',
    server.url,
    'slow',
    'ms=60000',
    '--timeout',
    '4s',
    '--json',
  ]);
  expect(code).toBe(5);
  const message = 'timed out after 4s; the call was cancelled';
  expect(stderr).toBe(`meanwhile: ${message}`);
  expect(JSON.parse(stdout)).toEqual({ error: { code: 'timeout', message, confirmed: true } });
  await expect.poll(() => server.state.cancelled).toEqual(['slow']);
});

test('C-3: arguments are converted by the schema of the tool, and come from JSON, a file or standard input', async () => {
  const server = owned(await startV1Http());
  const file = join(await temporaryFolder(), 'args.json');
  await writeFile(file, '{"ms": 1, "text": "from file"}');
  const calls: [string[], string?][] = [
    [['ms=1', 'text=42', 'steps=2']],
    [['ms:=2', 'text:="json"']],
    [['--args', '{"ms":3}']],
    [['--args', `@${file}`, 'ms=4']],
    [['--args', '-'], '{"ms":5}'],
  ];
  for (const [args, input] of calls) {
    const { code, stderr } = await runCommand(
      ['call', server.url, 'slow', ...args],
      input === undefined ? {} : { input },
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
  }
  expect(server.state.calls.map(({ args }) => args)).toEqual([
    { ms: 1, text: '42', steps: 2 },
    { ms: 2, text: 'json' },
    { ms: 3 },
    { ms: 4, text: 'from file' },
    { ms: 5 },
  ]);
});

const WRONG: [args: string[], ...about: string[]][] = [
  [['slow'], "'ms' is missing", 'slow ms=… [text=…] [steps=…]', 'ms     integer, 0…3600000'],
  [['slow', 'ms=soon'], "'ms': expected integer", 'usage: meanwhile call'],
  [['slow', 'ms=1', 'tex=x'], "there is no argument 'tex'; did you mean 'text'?", 'usage: meanwhile call'],
  [['slow', 'ms'], "expected key=value or key:=json, got 'ms'"],
  [['slow', 'ms:={'], 'ms:=: not valid JSON'],
  [['slo'], "has no tool 'slo'; did you mean 'slow'?", 'echo, slow'],
  [['slow', '--args', '{'], '--args: not valid JSON'],
  [['slow', '--args', '[]'], '--args: expected a JSON object'],
  [['slow', '--answer', 'yes'], '--answer: not valid JSON'],
  [['slow', '--timeout', 'soon'], '--timeout: expected a time'],
  [['slow', '--header', 'nonsense'], '--header: expected'],
  [['slow', '--nonsense'], "Unknown option '--nonsense'"],
  [[], 'expected meanwhile call <server> <tool>'],
];

test.each(WRONG)('C-3: wrong usage %j exits with 2 and an explanation', async (args, ...about) => {
  const server = owned(await startV1Http());
  const { code, stdout, stderr } = await runCommand(['call', server.url, ...args]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  for (const part of about) expect(stderr).toContain(part);
  expect(stderr).toContain('see meanwhile call --help');
  expect(server.state.calls).toEqual([]);
  const json = await runCommand(['call', server.url, ...args, '--json']);
  expect(json.code).toBe(2);
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'usage' } });
});

test('C-3: the program ends quietly when its reader closes the pipe, and reports a full disk', async () => {
  const { url } = owned(await startV1Http());
  const call = `'${process.execPath}' '${QUICK_PROGRAM}' call ${url} big bytes=5000000`;
  const terminal = await shellInTerminal(`${call} | head -c 5; echo; ${call} > /dev/full`);
  const { code, screen } = await terminal.ended();
  expect(screen.trim().split('\n').slice(0, 2)).toEqual([
    'xxxxx',
    expect.stringMatching(/^meanwhile: the output cannot be written: ENOSPC/),
  ]);
  expect(code).toBe(1);
});

test('C-3: an --answer that does not match the schema cancels the question, with a message and exit code 2', async () => {
  const { url } = owned(await startV1Http());
  const answers = ['--answer', '{"name":"Ada"}', '--answer', '{"age":"old"}'];
  const { code, stdout, stderr } = await runCommand(['call', url, 'ask_twice', ...answers]);
  expect(code).toBe(2);
  expect(stdout).not.toContain('Hello');
  const mistake = `--answer '{"age":"old"}', number 2 of 2, does not fit the question: 'age': expected a number`;
  expect(stderr).toContain(`answered "cancel": ${mistake}`);
  const json = await runCommand(['call', url, 'ask_twice', ...answers, '--json']);
  expect(json.code).toBe(2);
  expect(JSON.parse(json.stdout)).toMatchObject({
    error: { code: 'usage', message: mistake, result: { content: [{}] } },
  });

  const model = await runCommand(['call', url, 'sample', 'prompt=Why?', '--answer', '{"name":"Ada"}']);
  expect(model.code).toBe(2);
  expect(model.stderr).toContain(`--answer '{"name":"Ada"}' does not fit the question: expected {"text": "…"}`);
});

test('C-3: an unused --answer is reported', async () => {
  const { url } = owned(await startV1Http());
  const { code, stdout, stderr } = await runCommand(['call', url, 'echo', 'text=x', '--answer', '{"a":1}']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'x' });
  expect(stderr).toBe(`meanwhile: not used, because nothing was asked for it: --answer '{"a":1}'`);
});
