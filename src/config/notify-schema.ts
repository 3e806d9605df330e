/** The part of the configuration that tells whom to notify of what. */

import { MAX_DELAY_MS } from '../lib/clock.ts';
import * as z from '../lib/schema/kinds.ts';
import { serverNameSchema as name } from '../lib/server-name.ts';
import { compileUrlPattern } from '../lib/url-pattern.ts';

const TYPES = ['webhook', 'ntfy', 'slack', 'smtp', 'command'] as const;
const EVENTS = ['question', 'expiring', 'task', 'server'] as const;

type TargetType = (typeof TYPES)[number];

const ms = (fallback: number, help: string, { min = 0, max = MAX_DELAY_MS } = {}) =>
  z.int().min(min).max(max).default(fallback).describe(help);

const patterns = z.array(z.string().min(1));

const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'expected a time of day such as 22:00');

/** Long enough that it cannot be guessed. */
const secret = z
  .string()
  .refine((text) => text.length >= 16, 'a secret has at least 16 characters')
  .refine(
    (text) => !text.startsWith('whsec_') || /^whsec_[A-Za-z0-9+/]{20,}={0,2}$/.test(text),
    'after whsec_, a secret is base64',
  );

const mailAddress = z
  .string()
  .refine((text) => /^[^\s@<>,]+@[^\s@<>,]+$|<[^\s@<>,]+@[^\s@<>,]+>$/.test(text), 'expected a mail address');

/** What each type must have, and may have. */
const KEYS: Record<TargetType, { needs: readonly string[]; takes: readonly string[] }> = {
  webhook: { needs: ['url', 'secret'], takes: ['headers'] },
  ntfy: { needs: ['url'], takes: ['token', 'priority'] },
  slack: { needs: ['url'], takes: [] },
  smtp: { needs: ['url', 'from', 'to'], takes: [] },
  command: { needs: ['command'], takes: ['args'] },
};

/** Every key that belongs to some types only. */
const OF_TYPES = new Set(Object.values(KEYS).flatMap(({ needs, takes }) => [...needs, ...takes]));

const quietHours = z
  .strictObject({
    from: timeOfDay.describe('When they begin, such as `22:00`.'),
    to: timeOfDay.describe('When they end, such as `07:00`.'),
    timeZone: z
      .string()
      .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
      .optional()
      .describe('Such as `Europe/Berlin`; by default that of the machine.'),
  })
  .describe('When this target is not disturbed: messages wait until the end of these hours.');

const escalate = z
  .strictObject({
    to: name.describe('The name of the other target.'),
    afterMs: ms(600_000, 'How much longer a question must stay unanswered.'),
  })
  .describe(
    'Another target, for questions that are still unanswered later, and for messages that could not be delivered.',
  );

const target = z
  .strictObject({
    type: z.enum(TYPES).describe('How it is notified.'),
    url: z
      .string()
      .optional()
      .describe(
        'webhook, slack: the address. ntfy: the address of the topic. smtp: `smtp://user:password@host:587` or `smtps://…`.',
      ),
    secret: secret
      .optional()
      .describe(
        'webhook: signs the messages, as in Standard Webhooks. At least 16 characters, or `whsec_` and base64.',
      ),
    headers: z
      .record(
        z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'not a valid name of a header'),
        z.string().refine((text) => !/[^\t\x20-\x7e\u0080-\u00ff]/.test(text), 'a header cannot hold this character'),
      )
      .optional()
      .describe('webhook: sent with each message.'),
    token: z.string().min(1).optional().describe('ntfy: an access token.'),
    priority: z.int().min(1).max(5).optional().describe('ntfy: the priority of all messages, 1 to 5.'),
    from: mailAddress.optional().describe('smtp: the sender.'),
    to: z
      .array(mailAddress)
      .refine((list) => list.length > 0, 'expected at least one address')
      .optional()
      .describe('smtp: the recipients.'),
    command: z
      .string()
      .min(1)
      .optional()
      .describe('command: the program. It gets the message as JSON on standard input.'),
    args: z.array(z.string()).optional().describe('command: its arguments.'),
    timeoutMs: ms(10_000, 'How long the target may take.', { min: 100, max: 60_000 }),
    events: z
      .array(z.enum(EVENTS))
      .default(['question'])
      .describe(
        'The events that it is notified of: `question`, `expiring` (a question that is about to expire), `task` (a task that has ended), `server` (a server that is down).',
      ),
    principals: patterns
      .optional()
      .describe('Only for principals with these names, or patterns of names; all by default.'),
    servers: patterns.optional().describe('Only for these servers, or patterns of names; all by default.'),
    tools: patterns.optional().describe('Only for these tools, or patterns of names; all by default.'),
    afterMs: ms(0, 'Notify only of questions that are still unanswered after this time.'),
    quietHours: quietHours.optional(),
    escalate: escalate.optional(),
    include: z
      .array(z.enum(['message', 'arguments']))
      .default([])
      .describe(
        'What messages contain besides server, tool and link: the `message` of the server, the `arguments` of the call.',
      ),
    answerLinks: z
      .boolean()
      .default(false)
      .describe(
        'Whether messages have a link that shows the question and answers it. Anyone with the message can answer.',
      ),
  })
  .checked((given, issues) => {
    if (issues.length > 0) return;
    const value = given as Record<string, unknown> & { type: TargetType; url?: string };
    const { needs, takes } = KEYS[value.type];
    for (const key of needs) {
      if (value[key] === undefined)
        issues.push({ code: 'custom', path: [key], message: `missing; a target of type ${value.type} needs it` });
    }
    for (const key of OF_TYPES) {
      if (value[key] === undefined || needs.includes(key) || takes.includes(key)) continue;
      issues.push({ code: 'custom', path: [key], message: `not for a target of type ${value.type}` });
    }
    const mistake = value.url === undefined ? undefined : urlMistake(value.type, value.url);
    if (mistake !== undefined) issues.push({ code: 'custom', path: ['url'], message: mistake });
  });

export const notifySchema = z
  .strictObject({
    targets: z
      .record(name, target)
      .checked((given, issues) => {
        if (issues.length > 0) return;
        const targets = given as Record<string, { escalate?: { to: string } }>;
        for (const [each, { escalate: next }] of Object.entries(targets)) {
          if (next === undefined) continue;
          const path = [each, 'escalate', 'to'];
          if (next.to === each) issues.push({ code: 'custom', path, message: 'this is the target itself' });
          else if (!Object.hasOwn(targets, next.to))
            issues.push({ code: 'custom', path, message: 'there is no target of this name' });
        }
      })
      .default({})
      .describe('Notification targets by name. Each has a `type` and the settings of that type. See docs/NOTIFY.md.'),
    expiringMs: ms(120_000, 'How long before its deadline a question counts as about to expire.', { min: 1 }),
    serverDownMs: ms(60_000, 'How long a server must be disconnected before it counts as down.'),
    giveUpMs: ms(86_400_000, 'How long the gateway tries to deliver a message.', { min: 1 }),
    taskWebhooks: z
      .strictObject({
        allow: z
          .array(
            z
              .string()
              .refine(
                (text) => compileUrlPattern(text) !== undefined,
                'expected a pattern such as https://ci.example.com/hooks/*',
              ),
          )
          .refine((list) => list.length > 0, 'an empty list allows nothing; remove taskWebhooks')
          .describe(
            'Patterns of the URLs, such as `https://ci.example.com/hooks/*`. With a wildcard in the host, only public addresses.',
          ),
        secret: secret.describe('The secret that signs the messages, as for a webhook target.'),
      })
      .optional()
      .describe(
        'Lets clients name a URL with a call (`_meta["meanwhile/webhook"]`) that is called when its task ends.',
      ),
  })
  .describe('Whom to notify of questions, tasks and servers. See docs/NOTIFY.md.');

function urlMistake(type: TargetType, text: string): string | undefined {
  if (type === 'smtp') {
    return /^smtps?:\/\/[^/?#]+\/?$/i.test(text) && URL.canParse(text)
      ? undefined
      : 'expected smtp://user:password@host:587 or smtps://…';
  }
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return 'expected a URL starting with http:// or https://';
  const { username, pathname } = new URL(text);
  if (username !== '') return 'a URL with credentials is not accepted';
  if (type === 'ntfy' && pathname === '/') return 'expected the address of a topic, such as https://ntfy.sh/my-topic';
  return undefined;
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
