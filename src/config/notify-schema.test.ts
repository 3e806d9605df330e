import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defer } from '../../tests/support/owned.ts';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';
import type { Settings } from './schema.ts';

const SLACK = 'https://hooks.slack.com/services/T000/B000/verysecretpart';

async function load(notify: unknown): Promise<Settings['notify']> {
  const cwd = await mkdtemp(join(tmpdir(), 'meanwhile-notify-'));
  defer(async () => rm(cwd, { recursive: true }));
  await writeFile(join(cwd, 'meanwhile.json'), JSON.stringify({ meanwhile: { notify } }));
  const env = {
    SLACK_URL: SLACK,
    SECRET: 'a-secret-from-the-environment',
    SHORT: 'hush',
    NTFY_TOPIC: 't',
    HOOK_SECRET: 'a-secret-of-the-hook',
    MAIL_PASSWORD: 'x',
  };
  return (await loadConfig({ flags: { config: 'meanwhile.json' }, env, cwd })).settings.notify;
}

async function mistakes(notify: unknown): Promise<string> {
  return load(notify).then(
    () => '',
    (error: unknown) => {
      if (error instanceof ConfigError) return error.mistakes.join('\n');
      throw error;
    },
  );
}

const target = (settings: unknown): unknown => ({ targets: { hook: settings } });
const HOOK = { type: 'webhook', url: 'https://x.test/', secret: 'a secret of sixteen' };

describe('notify in the configuration', () => {
  it('N-1: is off by default, and has defaults for missing settings', async () => {
    expect(await load(undefined)).toBeUndefined();
    expect(await load(target({ type: 'slack', url: '${SLACK_URL}' }))).toEqual({
      targets: {
        hook: {
          type: 'slack',
          url: SLACK,
          timeoutMs: 10_000,
          events: ['question'],
          afterMs: 0,
          include: [],
          answerLinks: false,
        },
      },
      expiringMs: 120_000,
      serverDownMs: 60_000,
      giveUpMs: 86_400_000,
    });
  });

  it('N-1: accepts every type of target', async () => {
    const notify = await load({
      targets: {
        hook: { ...HOOK, secret: '${SECRET}', headers: { 'X-Team': 'ops' }, escalate: { to: 'mail' } },
        phone: {
          type: 'ntfy',
          url: 'https://ntfy.sh/topic',
          token: 'tk_x',
          priority: 5,
          events: ['question', 'server'],
        },
        mail: { type: 'smtp', url: 'smtps://me%40x.test:p@mail.test', from: 'Gateway <gw@x.test>', to: ['ann@x.test'] },
        run: {
          type: 'command',
          command: 'notify-send',
          args: ['Meanwhile'],
          quietHours: { from: '22:00', to: '07:00' },
        },
      },
      taskWebhooks: { allow: ['https://ci.test/*'], secret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3' },
    });
    expect(notify?.targets['hook']).toMatchObject({
      secret: 'a-secret-from-the-environment',
      escalate: { to: 'mail', afterMs: 600_000 },
    });
  });

  it.each([
    [target({ type: 'pigeon' }), 'notify.targets.hook.type: expected "webhook" or "ntfy"'],
    [
      target({ type: 'webhook', url: 'https://x.test/' }),
      'notify.targets.hook.secret: missing; a target of type webhook needs it',
    ],
    [target({ type: 'smtp', url: 'smtp://x' }), 'notify.targets.hook.from: missing'],
    [target({ ...HOOK, secret: '${SHORT}' }), 'notify.targets.hook.secret: a secret has at least 16 characters'],
    [target({ ...HOOK, secret: 'whsec_not base64 at all' }), 'after whsec_, a secret is base64'],
    [target({ ...HOOK, url: 'ftp://x' }), 'notify.targets.hook.url: expected a URL starting with http:// or https://'],
    [target({ ...HOOK, url: 'https://me:pw@x.test/' }), 'a URL with credentials is not accepted'],
    [target({ ...HOOK, to: ['a@b.c'] }), 'notify.targets.hook.to: not for a target of type webhook'],
    [target({ ...HOOK, events: ['questions'] }), 'notify.targets.hook.events[0]: expected "question"'],
    [target({ ...HOOK, event: ['question'] }), "unknown key; did you mean 'events'?"],
    [target({ ...HOOK, quietHours: { from: '22', to: '07:00' } }), 'expected a time of day such as 22:00'],
    [target({ ...HOOK, quietHours: { from: '22:00', to: '24:00' } }), 'expected a time of day such as 22:00'],
    [target({ ...HOOK, quietHours: { from: '22:00', to: '07:00', timeZone: 'Mars' } }), 'expected a time zone'],
    [target({ ...HOOK, escalate: { to: 'boss' } }), 'notify.targets.hook.escalate.to: there is no target of this name'],
    [target({ ...HOOK, escalate: { to: 'hook' } }), 'this is the target itself'],
    [target({ ...HOOK, timeoutMs: 600_000 }), 'expected at most 60000'],
    [target({ type: 'ntfy', url: 'https://ntfy.sh' }), 'expected the address of a topic'],
    [
      target({ type: 'smtp', url: 'https://x', from: 'a@b.c', to: ['a@b.c'] }),
      'expected smtp://user:password@host:587',
    ],
    [target({ type: 'smtp', url: 'smtp://x', from: 'me', to: [] }), 'expected a mail address'],
    [target({ type: 'smtp', url: 'smtp://x', from: 'a@b.c', to: [] }), 'expected at least one address'],
    [target({ type: 'command', command: '' }), 'must not be empty'],
    [{ taskWebhooks: { allow: [], secret: 'a secret of sixteen' } }, 'an empty list allows nothing'],
    [
      { taskWebhooks: { allow: ['ci.test'], secret: 'a secret of sixteen' } },
      'expected a pattern such as https://ci.example.com',
    ],
    [{ taskWebhooks: { allow: ['https://ci.test/*'] } }, 'notify.taskWebhooks.secret: missing'],
  ])('N-1: reports a mistake with its path: %j', async (notify, message) => {
    expect(await mistakes(notify)).toContain(message);
  });

  it('N-1: shows no secret in the report of a mistake', async () => {
    const found = await mistakes({
      targets: {
        a: { type: 'slack', url: 'htps://hooks.slack.com/services/verysecretpart' },
        b: { ...HOOK, secret: 'short-one' },
        c: { type: 'ntfy', url: 'https://ntfy.sh/t', token: 5 },
        d: { type: 'smtp', url: 'smtp://me:hunter2@mail/x', from: 'a@b.c', to: ['a@b.c'] },
      },
    });
    expect(found.split('\n')).toHaveLength(4);
    expect(found).not.toMatch(/verysecretpart|short-one|hunter2/);
  });

  it('N-1: each config in docs/NOTIFY.md is valid', async () => {
    const page = await readFile(new URL('../../docs/NOTIFY.md', import.meta.url), 'utf8');
    const configs = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(
      ([, text = '']) => JSON.parse(text) as { meanwhile: { notify: unknown } },
    );
    expect(configs.length).toBeGreaterThan(3);
    for (const { meanwhile } of configs) expect(await mistakes(meanwhile.notify)).toBe('');
  });
});
