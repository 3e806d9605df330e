import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { runCommand } from '../../support/command.ts';
import { configFile, httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { portToReturnTo } from '../../support/port-to-return-to.ts';
import { programInTerminal } from '../../support/terminal.ts';

const TOKEN = 'a-token-that-nobody-guesses';

async function call(url: string, headers?: Record<string, string>): Promise<void> {
  const hub = await hubOverHttp(url, 'v1', headers);
  await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
}

test('V-4: without a terminal top prints the state once', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  expect((await runCommand(['top', url])).stdout).toContain('sessions   none');
  await call(url);
  const { code, stdout, stderr } = await runCommand(['top', url]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^meanwhile \S+ {2}http:\/\/127\.0\.0\.1:\d+ {2}up /);
  expect(stdout).toContain('sessions   1 hub');
  expect(stdout).toContain('calls      1 open; ended: 1 result');
  expect(stdout).toContain('promoted   1 question');
  expect(stdout).toContain('tasks      1 input required');
  expect(stdout).toContain('questions  open: 1 elicitation; ended: none');
  expect(stdout).toMatch(/^one +yes +1 +1 +1 +0 +/m);
});

test('V-4: top --json prints one JSON document', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  await runCommand(['top', url, '--json']);
  await call(url);
  const { stdout } = await runCommand(['top', url, '--json']);
  const document = JSON.parse(stdout) as Json;
  expect(document).toMatchObject({
    url: url.replace('/mcp', ''),
    sessions: { hub: 1, direct: 0, group: 0 },
    calls: { open: 1, ended: { result: 1 }, promoted: { question: 1 } },
    questions: { open: { elicitation: 1 } },
    store: { up: true },
    servers: [{ name: 'one', up: true, openCalls: 1, calls: 1, failed: 0 }],
  });
});

test('V-4: top takes the token from the flag, the environment or the config file', async () => {
  const port = portToReturnTo();
  const settings = { port, auth: { tokens: { alice: TOKEN } } };
  const { url } = await httpGateway({}, settings);
  const refused = await runCommand(['top', url]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('requires a valid token: give it with --token, or in MEANWHILE_TOKEN');
  expect((await runCommand(['top', url, '--token', 'wrong'])).code).toBe(1);
  expect((await runCommand(['top', url, '--token', TOKEN])).code).toBe(0);
  expect((await runCommand(['top', url], { env: { MEANWHILE_TOKEN: TOKEN } })).code).toBe(0);
  const config = await configFile({}, settings);
  const shown = await runCommand(['top', '--config', config]);
  expect(shown.stdout).toContain(`http://127.0.0.1:${port}`);
  expect(shown.stdout).not.toContain(TOKEN);
});

test('V-4: errors of top name a fix', async () => {
  const { url } = await httpGateway({});
  const gone = portToReturnTo();
  const away = await runCommand(['top', `http://127.0.0.1:${gone}`]);
  expect(away.code).toBe(1);
  expect(away.stderr).toMatch(
    /^meanwhile: no gateway is reachable at \S+ \(ECONNREFUSED\); start one with meanwhile serve/,
  );
  const json = await runCommand(['top', `http://127.0.0.1:${gone}`, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'unreachable' } });
  const other = owned(await startV1Http());
  expect((await runCommand(['top', other.url])).stderr).toContain('does not answer with metrics');
  for (const [args, message] of [
    [['top', 'demo'], "'demo' is not a URL"],
    [['top', url, 'more'], "unexpected argument 'more'"],
    [['top', url, '--interval', 'often'], '--interval: expected a time'],
  ] as const) {
    const { code, stderr } = await runCommand([...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  }
});

test('V-4: on a terminal top continues while the gateway restarts, and q restores the screen', async () => {
  const server = owned(await startV1Http());
  const servers = { one: { url: server.url } };
  const port = portToReturnTo();
  const before = await httpGateway(servers, { port });
  const terminal = await programInTerminal(['top', before.url, '--interval', '100ms'], { prefix: 'echo earlier;' });
  await terminal.shows('calls      0 open, 0.0/s; ended: none');
  await call(before.url);
  await terminal.shows('calls      1 open, 0.0/s; ended: 1 result');
  await terminal.shows('q quits');
  await before.close();
  await terminal.shows('no gateway is reachable');
  await httpGateway(servers, { port });
  await terminal.shows('sessions   none');
  await terminal.shows('q quits');
  terminal.type('q');
  const { code, screen } = await terminal.ended();
  expect(code).toBe(0);
  expect(screen).toContain('earlier');
  expect(screen).not.toContain('q quits');
});

test('V-4: Ctrl-C ends top; --once and a dumb terminal print the state once', async () => {
  const { url } = await httpGateway({});
  const live = await programInTerminal(['top', url]);
  await live.shows('q quits');
  live.press('C-c');
  expect((await live.ended()).code).toBe(0);
  const once = await programInTerminal(['top', url, '--once']);
  expect((await once.ended()).screen).toContain('sessions   none');
  const dumb = await programInTerminal(['top', url], { prefix: 'TERM=dumb' });
  expect((await dumb.ended()).screen).toContain('sessions   none');
});
