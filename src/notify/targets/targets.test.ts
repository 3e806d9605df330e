import { createHmac } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { describe, expect, it, vi } from 'vitest';
import { isAlive } from '../../../tests/support/alive.ts';
import { defer } from '../../../tests/support/owned.ts';
import { Receiver } from '../../../tests/support/receiver.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { messageFrom, testMessage, type NotifyMessage } from '../message.ts';
import type { Notification } from '../notification.ts';
import { sendInTime } from '../sender.ts';
import type { TargetSettings, TargetType } from '../settings.ts';
import { SendFailure } from '../target.ts';
import { openTarget } from './open.ts';

const NOW = 1_700_000_000_000;
const SECRET = 'a secret of sixteen';

const settings = (type: TargetType, more: Partial<TargetSettings>): TargetSettings => ({
  type,
  timeoutMs: 5000,
  events: ['question'],
  afterMs: 0,
  include: [],
  answerLinks: false,
  ...more,
});

const NOTIFICATION: Notification = {
  event: 'question',
  at: NOW,
  principal: 'ann',
  server: 'bank <b>&',
  tool: 'pay',
  question: { id: 'q1', kind: 'elicitation', mode: 'form', sessionId: 'secret session', expiresAt: NOW + 600_000 },
};

const question = (more: Partial<Notification> = {}, answerLink?: string): NotifyMessage =>
  messageFrom('msg_1', { ...NOTIFICATION, ...more }, { base: 'https://gw.test', answerLink });

async function send(target: TargetSettings, message = question()): Promise<void> {
  const clock = new TestClock(NOW);
  await sendInTime(await openTarget(target, () => clock.now()), message, target.timeoutMs, clock);
}

async function failure(target: TargetSettings): Promise<SendFailure> {
  return send(target).then(
    () => expect.fail('it was sent'),
    (error: unknown) => error as SendFailure,
  );
}

describe('a webhook', () => {
  it('N-1: gets JSON with a stable ID and a signature of ID, time and body', async () => {
    const receiver = await Receiver.start();
    await send(settings('webhook', { url: `${receiver.url}/in?a=1`, secret: SECRET, headers: { 'x-team': 'ops' } }));
    const [{ path, headers, text, body } = expect.fail('nothing')] = receiver.received;
    expect(path).toBe('/in?a=1');
    expect(headers).toMatchObject({ 'webhook-id': 'msg_1', 'webhook-timestamp': String(NOW / 1000), 'x-team': 'ops' });
    const signature = createHmac('sha256', SECRET)
      .update(`msg_1.${NOW / 1000}.${text}`)
      .digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    expect(body).toEqual({
      type: 'question.opened',
      timestamp: new Date(NOW).toISOString(),
      data: {
        principal: 'ann',
        server: 'bank <b>&',
        tool: 'pay',
        questionId: 'q1',
        kind: 'elicitation',
        expiresAt: new Date(NOW + 600_000).toISOString(),
        link: 'https://gw.test/console#/q/q1',
      },
    });
  });

  it('N-1: accepts secrets in the format of Standard Webhooks', async () => {
    const receiver = await Receiver.start();
    const key = Buffer.from('0123456789abcdef01234567');
    await send(settings('webhook', { url: receiver.url, secret: `whsec_${key.toString('base64')}` }));
    const [{ headers, text } = expect.fail('nothing')] = receiver.received;
    const signature = createHmac('sha256', key)
      .update(`msg_1.${NOW / 1000}.${text}`)
      .digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  });

  it.each([
    [500, /^HTTP 500: \{\}$/, false],
    [404, /^HTTP 404/, false],
    [410, /^HTTP 410/, true],
    [302, /redirects are not followed/, false],
    ['reset', /ECONNRESET|socket hang up/, false],
  ] as const)('N-1: reports an error if the receiver answers %s', async (reply, message, isFinal) => {
    const receiver = await Receiver.start();
    const other = await Receiver.start();
    receiver.replies = [reply === 302 ? (res) => res.writeHead(302, { location: other.url }).end() : reply];
    const failed = await failure(settings('webhook', { url: receiver.url, secret: SECRET }));
    expect(failed).toBeInstanceOf(SendFailure);
    expect(failed.message).toMatch(message);
    expect(failed.isFinal).toBe(isFinal);
    expect(other.received).toEqual([]);
  });

  it('N-1: honours Retry-After, and reads only the beginning of the response', async () => {
    const receiver = await Receiver.start();
    receiver.replies = [
      (res) => {
        res.writeHead(429, { 'retry-after': '120' });
        const write = (): void => {
          if (!res.destroyed) res.write('x'.repeat(65_536), write);
        };
        write();
      },
    ];
    const failed = await failure(settings('webhook', { url: receiver.url, secret: SECRET }));
    expect(failed.retryAfterMs).toBe(120_000);
    expect(failed.message.length).toBeLessThan(300);
  });

  it('N-1: stops waiting for a receiver that does not respond, and ignores the rest of a response body', async () => {
    const receiver = await Receiver.start();
    receiver.replies = [
      (res) => {
        res.writeHead(200).write('{');
      },
      'hang',
    ];
    const clock = new TestClock(NOW);
    const target = await openTarget(settings('webhook', { url: receiver.url, secret: SECRET }), () => clock.now());
    await sendInTime(target, question(), 5000, clock);
    const sending = sendInTime(target, question(), 5000, clock).catch((error: unknown) => error as Error);
    await expect.poll(() => receiver.received.length).toBe(2);
    clock.advance(5000);
    expect(await sending).toMatchObject({ message: 'no answer within 5 seconds' });
  });

  it('N-1: reports a refused connection', async () => {
    const receiver = createServer();
    await new Promise<void>((resolve) => {
      receiver.listen(0, '127.0.0.1', resolve);
    });
    const { port } = receiver.address() as AddressInfo;
    await new Promise((resolve) => {
      receiver.close(resolve);
    });
    const failed = await failure(settings('webhook', { url: `http://127.0.0.1:${port}/`, secret: SECRET }));
    expect(failed.message).toContain('ECONNREFUSED');
    expect(failed.message).not.toContain(SECRET);
  });
});

describe('other services', () => {
  it('N-1: ntfy gets the topic, a title, a priority and links', async () => {
    const receiver = await Receiver.start();
    const target = settings('ntfy', { url: `${receiver.url}/push/my-topic`, token: 'tk_1' });
    await send(target, question({}, 'https://gw.test/answer/abc'));
    await send({ ...target, priority: 1 }, question({ event: 'expiring' }));
    await send(target, question({ event: 'expiring' }));
    const [first = expect.fail('nothing'), low, high] = receiver.received;
    expect(first.path).toBe('/push');
    expect(first.headers.authorization).toBe('Bearer tk_1');
    expect(first.body).toEqual({
      topic: 'my-topic',
      title: 'bank <b>& asks a question',
      message: 'Tool: pay\nOpen until 2023-11-14 22:23 UTC',
      priority: 3,
      click: 'https://gw.test/answer/abc',
      actions: [
        { action: 'view', label: 'Answer', url: 'https://gw.test/answer/abc' },
        { action: 'view', label: 'Open the console', url: 'https://gw.test/console#/q/q1' },
      ],
    });
    expect([low?.body['priority'], high?.body['priority']]).toEqual([1, 4]);
  });

  it('N-1, N-2: Slack gets plain text, which a server cannot format, and buttons', async () => {
    const receiver = await Receiver.start();
    const message = question({ message: '<!channel> *now* <https://evil.test|click>' }, 'https://gw.test/answer/abc');
    await send(settings('slack', { url: `${receiver.url}/services/T/B/x` }), message);
    const [{ body } = expect.fail('nothing')] = receiver.received;
    expect(body['text']).toBe('bank &lt;b&gt;&amp; asks a question');
    const blocks = body['blocks'] as {
      type: string;
      text?: { type: string; text: string };
      elements?: { url: string }[];
    }[];
    expect(blocks.map(({ type }) => type)).toEqual(['header', 'section', 'actions']);
    expect(blocks[1]?.text).toMatchObject({ type: 'plain_text', emoji: false });
    expect(blocks[1]?.text?.text).toContain('<!channel> *now*');
    expect(blocks[2]?.elements?.map(({ url }) => url)).toEqual([
      'https://gw.test/answer/abc',
      'https://gw.test/console#/q/q1',
    ]);
    expect(body).toMatchObject({ unfurl_links: false, unfurl_media: false });
  });
});

interface Mail {
  from: string;
  to: string[];
  text: string;
}

async function mailServer(
  options: ConstructorParameters<typeof SMTPServer>[0] = {},
): Promise<{ port: number; mails: Mail[] }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData: (stream, session, callback) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text,
        });
        callback();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  defer(
    async () =>
      new Promise<void>((resolve) => {
        server.close(resolve);
      }),
  );
  return { port: (server.server.address() as AddressInfo).port, mails };
}

describe('e-mail', () => {
  const mail = (port: number, login = ''): TargetSettings =>
    settings('smtp', {
      url: `smtp://${login}127.0.0.1:${port}`,
      from: 'Gateway <gw@example.com>',
      to: ['ann@example.com', 'bob@example.com'],
    });

  it('N-1: is sent by SMTP with a stable Message-ID', async () => {
    const { port, mails } = await mailServer();
    await send(mail(port), question({ server: 'bank\r\nBcc: evil@example.com', message: 'Pay?' }));
    await send(mail(port), testMessage('msg_2', 'mail', NOW, undefined));
    const [{ from, to, text } = expect.fail('nothing'), second] = mails;
    expect(from).toBe('gw@example.com');
    expect(to).toEqual(['ann@example.com', 'bob@example.com']);
    expect(text).toMatch(/^Message-ID: <msg_1@meanwhile\.local>\r$/m);
    expect(text).toMatch(/^Subject: bank Bcc: evil@example\.com asks a question\r$/m);
    expect(text).not.toMatch(/^Bcc:/m);
    expect(text).toContain('Open in the console: https://gw.test/console#/q/q1');
    expect(second?.text).toContain("Notifications reach the target 'mail'");
  });

  it('N-1: is sent with name and password, which errors do not show', async () => {
    const wrong: string[] = [];
    const { port, mails } = await mailServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, callback) => {
        if (username === 'me@example.com' && password === 'p@ss/word') callback(null, { user: username });
        else {
          wrong.push(String(password));
          callback(new Error('Invalid username or password'));
        }
      },
    });
    await send(mail(port, 'me%40example.com:p%40ss%2Fword@'));
    expect(mails).toHaveLength(1);
    const failed = await failure(mail(port, 'me%40example.com:wrong-one@'));
    expect(failed.message).toMatch(/refused: .*Invalid/);
    expect(failed.message).not.toContain('wrong-one');
    expect(wrong).toEqual(['wrong-one']);
  });

  it('N-1: fails in time if the mail server does not respond', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    defer(async () => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const clock = new TestClock(NOW);
    const { port } = silent.address() as AddressInfo;
    const target = await openTarget({ ...mail(port), timeoutMs: 200 }, () => clock.now());
    const sending = sendInTime(target, question(), 200, clock).catch((error: unknown) => error as Error);
    await expect.poll(() => sockets.size).toBe(1);
    clock.advance(200);
    expect(await sending).toMatchObject({ message: 'no answer within 0.2 seconds' });
    await expect
      .poll(() => [...sockets].every(({ readableEnded, destroyed }) => readableEnded || destroyed))
      .toBe(true);
  });

  it('N-1: is not sent after it was aborted', async () => {
    const { port, mails } = await mailServer();
    const target = await openTarget(mail(port), () => NOW);
    await expect(target.send(question(), AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    const stop = new AbortController();
    const slow = await mailServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onMailFrom: (_address, _session, next) => {
        stop.abort(new Error('stopped'));
        setTimeout(next, 50);
      },
    });
    const stopped = (await openTarget(mail(slow.port), () => NOW)).send(question(), stop.signal);
    await expect(stopped).rejects.toThrow('stopped');
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
    expect([mails, slow.mails]).toEqual([[], []]);
  });

  it('N-1: is sent only to a server with a trusted certificate', async () => {
    const { port } = await mailServer({ secure: true });
    const failed = await failure({ ...mail(port), url: `smtps://127.0.0.1:${port}` });
    expect(failed.message).toMatch(/certificate|altnames/i);
  });
});

describe('a local command', () => {
  async function script(text: string): Promise<{ file: string; out: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'meanwhile-notify-'));
    defer(async () => rm(folder, { recursive: true }));
    const [file, out] = [join(folder, 'notify'), join(folder, 'out')];
    await writeFile(file, `#!${process.execPath}\n${text}`);
    await chmod(file, 0o755);
    return { file, out };
  }

  it('N-1: gets the message on standard input, and none of it in arguments', async () => {
    const { file, out } = await script(`
      const fs = require('node:fs');
      const input = JSON.parse(fs.readFileSync(0, 'utf8'));
      const { MEANWHILE_EVENT: event, MEANWHILE_LINK: link, MEANWHILE_ID: id } = process.env;
      fs.writeFileSync(process.argv[2], JSON.stringify({ input, event, link, id, args: process.argv.slice(3) }));
    `);
    const evil = question({ server: '$(touch x); --flag', tool: '`id`' });
    await send(settings('command', { command: file, args: [out, '$HOME', 'a b'] }), evil);
    const told = JSON.parse(await readFile(out, 'utf8')) as Record<string, unknown>;
    expect(told).toMatchObject({
      event: 'question',
      id: 'msg_1',
      link: 'https://gw.test/console#/q/q1',
      args: ['$HOME', 'a b'],
    });
    expect(told['input']).toMatchObject({
      id: 'msg_1',
      type: 'question.opened',
      data: { server: '$(touch x); --flag' },
    });
  });

  it('N-1: that fails or does not exist is reported with the reason', async () => {
    const { file } = await script(`console.error('no display'); process.exit(3);`);
    const failed = await failure(settings('command', { command: file }));
    expect(failed.message).toBe('the program ended with exit code 3: no display');
    const missing = await failure(settings('command', { command: '/no/such/program' }));
    expect(missing.message).toBe("there is no program '/no/such/program'");
  });

  it('N-1: that takes too long is killed together with its child processes', async () => {
    const { file, out } = await script(`
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      require('node:fs').writeFileSync(process.argv[2], String(child.pid));
      setInterval(() => {}, 1000);
    `);
    const clock = new TestClock(NOW);
    const target = await openTarget(settings('command', { command: file, args: [out] }), () => clock.now());
    const sending = sendInTime(target, question(), 5000, clock).catch((error: unknown) => error as Error);
    await expect.poll(async () => readFile(out, 'utf8').catch(() => '')).toMatch(/^\d+$/);
    clock.advance(5000);
    expect(await sending).toMatchObject({ message: 'no answer within 5 seconds' });
    const pid = Number(await readFile(out, 'utf8'));
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('N-1: that cannot be killed is not waited for', async () => {
    const { file, out } = await script(`
      require('node:fs').writeFileSync(process.argv[2], String(process.pid));
      setInterval(() => {}, 1000);
    `);
    const target = await openTarget(settings('command', { command: file, args: [out] }), () => NOW);
    const stop = new AbortController();
    const sending = target.send(question(), stop.signal);
    await expect.poll(async () => readFile(out, 'utf8').catch(() => '')).toMatch(/^\d+$/);
    const pid = Number(await readFile(out, 'utf8'));
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    });
    try {
      stop.abort(new Error('stopped'));
      await expect(sending).rejects.toThrow('stopped');
      expect(kill).toHaveBeenCalledTimes(1);
    } finally {
      kill.mockRestore();
      process.kill(pid, 'SIGKILL');
    }
  });
});
