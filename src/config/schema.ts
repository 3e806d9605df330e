/**
 * The configuration as a schema: what the file may say, what it means, and what holds when it says nothing. The JSON
 * Schema for editors and the reference of the settings are made from it.
 */

import type { ServerConfig } from '../core/ports.ts';
import { isPostgresUrl } from '../lib/postgres-url.ts';
import { isSecureUrl } from '../lib/secure-url.ts';
import { isAddressRange } from '../lib/addresses.ts';
import * as z from '../lib/schema/kinds.ts';
import { LOG_FORMATS, LOG_LEVELS, type LogLevel } from '../lib/log.ts';
import { serverNameSchema as name } from '../lib/server-name.ts';
import { MAX_RULES, ruleSchema } from './rule-schema.ts';
import { MAX_DELAY_MS } from '../lib/clock.ts';
import { answersSchema } from './answers.ts';
import { modelsSchema, type ModelConfig } from './models.ts';
import { notifySchema } from './notify-schema.ts';
import { URL_KEYS } from './server-entries.ts';

// --- Servers -----------------------------------------------------------------------------------------------------

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/** Tokens name it exactly so. Without https, anybody on the way could issue tokens; on this machine nobody is. */
function isIssuer(text: string): boolean {
  return isSecureUrl(text) && !/[?#@\s]/.test(text);
}

/** The address of one gateway, not of what it serves. */
function isGatewayAddress(text: string): boolean {
  if (!isHttpUrl(text)) return false;
  const { href, origin } = new URL(text);
  return href === `${origin}/` && !/[?#]/.test(text);
}

const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'not a valid name of a header');

/** Checked here because it would otherwise fail at each request, far from its cause. */
const isHeaderValue = (text: string): boolean => !/[^\t\x20-\x7e\u0080-\u00ff]/.test(text);

const variableName = z.string().refine((text) => text !== '' && !text.includes('='), 'not a valid name of a variable');

const patterns = z.array(z.string().min(1));

const includePatterns = patterns.refine(
  (list) => list.length > 0,
  'an empty list would hide every tool; remove it to show all tools',
);

const shared = {
  include: includePatterns
    .optional()
    .describe('Patterns of the tools to show, such as `get_*`, everywhere; all by default. `*` and `?` are wildcards.'),
  exclude: patterns
    .optional()
    .describe('Patterns of tools to hide everywhere, such as `delete_*`. A hidden tool cannot be called.'),
  share: z
    .enum(['session', 'principal'])
    .optional()
    .describe(
      'Who uses one connection, and so one process of a command: each session its own (the default), or all sessions of ' +
        'one principal the same.',
    ),
  // Keys that the files of other programs have in a server entry; accepted so that such a file can be used as it is.
  disabled: z.boolean().optional().describe('Leaves this server out.'),
  enabled: z.boolean().optional().describe('`false` leaves this server out.'),
  timeout: z.unknown().optional().describe('Accepted and ignored.'),
  autoApprove: z.unknown().optional().describe('Accepted and ignored.'),
  alwaysAllow: z.unknown().optional().describe('Accepted and ignored.'),
  description: z.unknown().optional().describe('Accepted and ignored.'),
};

const httpTransport = z
  .enum(['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'sse'])
  .optional()
  .describe('Accepted; the transport is negotiated.');

const httpUrl = z.string().refine(isHttpUrl, 'expected a URL starting with http:// or https://').optional();

const httpServer = z
  .strictObject({
    type: httpTransport,
    transport: httpTransport,
    url: httpUrl.describe('Where the server is reached.'),
    httpUrl: httpUrl.describe('The same as `url`.'),
    serverUrl: httpUrl.describe('The same as `url`.'),
    headers: z
      .record(headerName, z.string().refine(isHeaderValue, 'a header cannot hold this character'))
      .optional()
      .describe('Sent with every request to this server.'),
    ...shared,
  })
  .refine(
    (entry) => URL_KEYS.filter((key) => entry[key] !== undefined).length === 1,
    'expected one "url"',
    // So that an entry with a `command` is not taken for an HTTP server with unknown keys.
    { abort: true },
  )
  .meta({ anyOf: URL_KEYS.map((key) => ({ required: [key] })) });

const stdioTransport = z.enum(['stdio']).optional().describe('Accepted; a command always uses stdio.');

const commandServer = z.strictObject({
  type: stdioTransport,
  transport: stdioTransport,
  command: z.string().min(1).describe('The program that is the server.'),
  args: z.array(z.string()).optional().describe('The arguments of the command.'),
  env: z.record(variableName, z.string()).optional().describe('Environment variables for the command.'),
  envFile: z
    .string()
    .min(1)
    .optional()
    .describe('A file with more environment variables, one `NAME=value` a line; `env` takes precedence.'),
  cwd: z.string().min(1).optional().describe('The folder it runs in; relative to the folder of this file.'),
  ...shared,
});

// --- Settings ----------------------------------------------------------------------------------------------------

const ms = (fallback: number, help: string, min = 1) =>
  z.int().min(min).max(MAX_DELAY_MS).default(fallback).describe(help);

const count = (fallback: number, help: string, min = 1) =>
  z.int().min(min).max(1_000_000).default(fallback).describe(help);

/** A hundred years. */
const MAX_AUDIT_MS = 3_155_760_000_000;

/** Up to what still fits into one string with room to spare. */
const bytes = (fallback: number, help: string) =>
  z
    .int()
    .min(1024)
    .max(2 ** 28)
    .default(fallback)
    .describe(help);

/** Something that comes again and again; often enough to test with, not so often that it keeps a processor busy. */
const every = (fallback: number, help: string) => ms(fallback, help, 10);

const group = <T extends Record<string, z.Schema<unknown>>>(help: string, shape: T): z.Schema<z.ObjectOf<T>> =>
  z.strictObject(shape).describe(help);

/** Says both values, since one of them may be a default that is not in the file. */
const notMore =
  <K extends string>(less: K, more: K) =>
  (given: unknown, issues: z.Issue[]): void => {
    const value = given as Record<K, number>;
    if (issues.length > 0 || value[less] <= value[more]) return;
    const message = `${less} (${value[less]}) must not be more than ${more} (${value[more]})`;
    issues.push({ code: 'custom', path: [], message });
  };

const auditSettings = group('The audit record.', {
  keepMs: z
    .int()
    .min(60_000)
    .max(MAX_AUDIT_MS)
    .default(7_776_000_000)
    .describe('How long lines are kept; 90 days by default.'),
  bytes: z
    .int()
    .min(1_048_576)
    .max(2 ** 40)
    .default(268_435_456)
    .describe(
      'How much is kept, in the whole store; the oldest lines are deleted first. In a file it is a quarter of `limits.storeBytes` at most.',
    ),
  arguments: z
    .enum(['hash', 'keep', 'none'])
    .default('hash')
    .describe(
      'What lines have of arguments, questions and answers: `hash` their SHA-256, `keep` also the contents up to 64 KiB, `none` neither.',
    ),
});

/** Keys that come another way could be anybody's, and tokens and the secret must not be read on the way. */
const secureUrl = z
  .string()
  .refine(isSecureUrl, 'expected a URL starting with https://, or with http:// on this machine')
  .optional();

/** Compared letter by letter with what tokens say, so nothing of it is changed. */
const issuer = group('An OAuth authorization server.', {
  issuer: z
    .string()
    .refine(isIssuer, 'expected the issuer as its tokens name it: https://…, without a query, `#` or `@`')
    .describe('The issuer exactly as its tokens and its metadata name it.'),
  audiences: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Audiences of tokens that are accepted besides the address of the gateway, for authorization servers that cannot issue tokens for it.',
    ),
  jwksUrl: secureUrl.describe('Where the keys of the issuer are. By default as its metadata says.'),
  introspection: group(
    'How to ask the issuer about tokens, where only it can read them or they must be revocable at once.',
    {
      url: secureUrl.describe('Where to ask. By default as the metadata of the issuer says.'),
      clientId: z.string().min(1).describe('The id of the gateway at the issuer.'),
      clientSecret: z.string().min(1).describe('Its secret.'),
    },
  ).optional(),
  principalClaim: z
    .string()
    .min(1)
    .default('sub')
    .describe(
      'The claim that tells people apart. It must never be given to another person later, as e-mail addresses are.',
    ),
  scopeClaim: z.string().min(1).default('scope').describe('The claim with the scopes; `scp` is read if it is missing.'),
});

const scopes = group('What the scopes are called.', {
  use: z.string().min(1).default('mcp:use').describe('Use servers, tasks and the own questions.'),
  answer: z.string().min(1).default('mcp:answer').describe('Also answer questions, and cancel work, with the API.'),
  operate: z
    .string()
    .min(1)
    .default('mcp:operate')
    .describe('Also see and answer what belongs to others, as an operator.'),
});

const settings = group('The settings of meanwhile itself.', {
  host: z
    .string()
    .min(1)
    .max(255)
    .default('127.0.0.1')
    .describe('The address to listen on over HTTP. Any other than a local one needs `auth.tokens` or `auth.issuers`.'),
  port: z.int().min(0).max(65_535).default(8080).describe('The port to listen on over HTTP; 0 takes any free one.'),
  publicUrl: z
    .string()
    .refine(
      isGatewayAddress,
      'expected an address such as https://gateway.example.com, without a path, a query or credentials',
    )
    .optional()
    .describe(
      'Where clients and people reach the gateway, such as `https://gateway.example.com`, if that is not where it listens: behind a ' +
        'proxy, or with `auth.issuers`, whose tokens are issued for it.',
    ),
  advertise: z
    .string()
    .refine(
      isGatewayAddress,
      'expected an address such as http://gateway-1:8080, without a path, a query or credentials',
    )
    .optional()
    .describe(
      'Where other gateways on the same `postgres://` store reach this one, such as `http://gateway-1:8080`. By default where it ' +
        'listens, under the name of the machine if that is all addresses.',
    ),
  store: z
    .string()
    .min(1)
    .refine(
      (text) => isPostgresUrl(text) || !/^[a-z][a-z0-9+.-]+:/i.test(text),
      'expected a file, `:memory:`, or postgres://user:password@host/database; other stores are not supported',
    )
    .optional()
    .describe(
      'The file that keeps sessions, tasks and questions, relative to the folder of this file, or `:memory:`, or a database: ' +
        '`postgres://user:password@host/database`. ' +
        'By default in the data folder of the user: `meanwhile/meanwhile.db`, or on stdio one for each project.',
    ),
  logLevel: z
    .enum(LOG_LEVELS)
    .optional()
    .describe('The least important log lines that are written to stderr. By default `info`, and `warn` on stdio.'),
  logFormat: z
    .enum(LOG_FORMATS)
    .default('auto')
    .describe('How log lines are written: `json`, `text` for people, or `auto`: text on a terminal, else JSON.'),
  auth: group('Who may connect over HTTP.', {
    tokens: z
      .record(
        name,
        z.string().refine((token) => token.length >= 16, 'a token has at least 16 characters'),
      )
      .refine(
        (tokens) => new Set(Object.values(tokens)).size === Object.keys(tokens).length,
        'two names have the same token; give each name its own token',
      )
      .default({})
      .describe(
        'Bearer tokens by the name of who has it, at least 16 characters each. Without any, no token is asked.',
      ),
    operators: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'Names from `auth.tokens`, or `<subject>@<issuer>`, of people who see and answer everything in the console, of all principals. ' +
          'Without tokens and issuers, the person at this machine does.',
      ),
    issuers: z
      .array(issuer)
      .refine(
        (issuers) => new Set(issuers.map(({ issuer: url }) => url)).size === issuers.length,
        'two entries have the same issuer; put both into one',
      )
      .default([])
      .describe(
        'OAuth authorization servers whose access tokens are accepted, besides `auth.tokens`. Clients learn of them by themselves.',
      ),
    scopes: z
      .union([z.literal(false), scopes])
      .prefault({})
      .describe('What the scopes of the issuers are called; `false` if their tokens have none for the gateway.'),
  })
    .checked((given, issues) => {
      const { tokens, operators, issuers } = given as {
        tokens: Record<string, string>;
        operators: string[];
        issuers: { issuer: string }[];
      };
      if (issues.length > 0) return;
      const isKnown = (operator: string): boolean =>
        Object.hasOwn(tokens, operator) || issuers.some(({ issuer: url }) => operator.endsWith(`@${url}`));
      const unknown = operators.findIndex((operator) => !isKnown(operator));
      // Not what it says: that may be a token.
      if (unknown >= 0)
        issues.push({
          code: 'custom',
          path: ['operators', unknown],
          message: 'neither a name in auth.tokens nor `<subject>@<issuer>` of an entry of auth.issuers',
        });
    })
    .prefault({}),
  allowedHosts: z
    .array(z.string().min(1))
    .default([])
    .describe('Host names that requests may be addressed to, besides the local ones.'),
  allowedOrigins: z
    .array(
      z
        .string()
        .refine(
          (text) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/i.test(text),
          'expected an origin such as https://app.example.com, without a path',
        ),
    )
    .default([])
    .describe('Origins of web pages that may send requests, besides the local ones.'),
  allowCommands: z
    .boolean()
    .default(false)
    .describe('Whether clients over HTTP may add servers that are commands, which then run on this machine.'),
  addServers: z
    .union([z.enum(['anyone', 'nobody']), z.array(z.string().min(1))])
    .default('anyone')
    .describe(
      'Who may add servers with `add_server`: `anyone`, `nobody`, or a list of names from `auth.tokens` or `<subject>@<issuer>`.',
    ),
  addServerAddresses: z
    .union([
      z.enum(['any', 'public']),
      z.array(z.string().refine(isAddressRange, 'expected an address or a range such as 10.0.0.0/8')),
    ])
    .optional()
    .describe(
      'Where servers may be that clients add: at `any` address, at `public` ones only, or at public ones and a list of ' +
        'addresses and ranges such as `10.1.0.0/16`. By default `public` with `auth.tokens` or `auth.issuers`, else `any`.',
    ),
  allowServerChanges: z
    .boolean()
    .optional()
    .describe(
      'Whether clients may replace and remove servers of the config file, which changes them for everyone. ' +
        'By default `false` with `auth.tokens` or `auth.issuers`, else `true`.',
    ),
  calls: group('Tool calls.', {
    timeoutMs: ms(
      50_000,
      'How long a call may take before it becomes a task, when the client does not say. Most clients stop waiting after 60 s.',
    ),
    onCancel: z
      .enum(['auto', 'cancel', 'keep'])
      .default('auto')
      .describe(
        'What happens to a call that its client cancels. `auto` lets it go on as a task if the reason says that the client ' +
          'stopped waiting, else stops it; `cancel` always stops it, also when a client of 2026-07-28 closes its request; ' +
          '`keep` always lets it go on.',
      ),
  }).prefault({}),
  tasks: group('Calls that became tasks.', {
    ttlMs: ms(300_000, 'How long a task may work when the client does not say.'),
    maxTtlMs: ms(1_800_000, 'The longest a client may ask for.'),
    keepMs: ms(300_000, 'How long a finished task can be read.'),
    cleanupMs: every(60_000, 'How often finished tasks past their time are removed.'),
    perSession: count(
      100,
      'How many tasks a session may have. While so many are at work, new calls are refused; a call in flight may still become a task.',
    ),
    max: count(10_000, 'How many tasks of all sessions may be at work, at all gateways on a store together.'),
  })
    .checked(notMore('ttlMs', 'maxTtlMs'))
    .prefault({}),
  questions: group('Questions that servers ask while they work.', {
    timeoutMs: ms(600_000, 'How long a question waits for an answer.'),
    perSession: count(100, 'How many open questions a session may have.'),
    via: z
      .enum(['tools', 'native', 'both'])
      .default('both')
      .describe(
        'How the client of a hub call is asked while it waits: through the tools, as the protocol has it if the client can be ' +
          'asked so, or both ways, where the first answer counts.',
      ),
    minDeclineMs: ms(
      500,
      'With `via: "both"`, a client that cancels a question, or declines it faster than this, has not shown it to a person: the ' +
        'question stays open for the tools. With 0 every decline counts.',
      0,
    ),
  }).prefault({}),
  answers: answersSchema,
  answersDryRun: z
    .boolean()
    .default(false)
    .describe('The rules in `answers` answer nothing; the log tells what they would have answered.'),
  models: modelsSchema,
  direct: group('Servers that clients see as they are, at `/mcp/<name>`.', {
    taskAfterMs: ms(2000, 'How long a call may take before a client that takes tasks gets it as one.'),
    takeOverMs: ms(
      60_000,
      'How long the result of a call that its client gave up is returned to the same call of the same program.',
      0,
    ),
  }).prefault({}),
  all: group('Many servers behind one endpoint: `/mcp/all` and `/mcp/<group>`.', {
    listTimeoutMs: ms(5000, 'How long a list waits for a slow server; it is left out until it has answered.'),
    listBytes: bytes(4_194_304, 'The largest list of one server; a larger one is left out.'),
    maxNameLength: z
      .int()
      .min(24)
      .max(128)
      .default(48)
      .describe(
        'The longest name of a tool or prompt; longer ones are shortened. Many clients allow 64 with a prefix.',
      ),
    helperTools: z
      .enum(['auto', 'always', 'never'])
      .default('auto')
      .describe(
        "Which clients also get the hub's tools for tasks and questions: `auto` those that take no tasks and cannot be asked, " +
          '`always` all, `never` none.',
      ),
  }).prefault({}),
  groups: z
    .record(
      name,
      group('A selection of servers and their tools.', {
        servers: patterns
          .optional()
          .describe('Names of servers and patterns of names, such as `team-*`; all servers by default.'),
        include: includePatterns
          .optional()
          .describe('Patterns of the tools to show as `<server>__<tool>`, such as `github__*`; all by default.'),
        exclude: patterns.optional().describe('Patterns of tools to hide, such as `*__delete_*`.'),
        prefix: z
          .boolean()
          .default(true)
          .describe('Whether names of tools and prompts begin with the name of their server.'),
      }),
    )
    .default({})
    .describe(
      'Selections of servers and tools by name, each at `/mcp/<name>`: `{"servers", "include", "exclude", "prefix"}`, all ' +
        'optional. `include` and `exclude` are patterns of `<server>__<tool>`; `"prefix": false` shows tools under their own names.',
    ),
  rules: z
    .array(ruleSchema)
    .refine((list) => list.length <= MAX_RULES, `more than ${MAX_RULES} rules`)
    .default([])
    .describe(
      'Which calls are made at once (`allow`), only after a person has approved them (`ask`), or not at all (`deny`). The first rule ' +
        'that matches decides; without one the call is made. See [rules](RULES.md).',
    ),
  cluster: group('Several gateways on one PostgreSQL database.', {
    leaseMs: ms(
      10_000,
      'How long a gateway may be silent before others take over its work; set the same value on all gateways.',
      1000,
    ),
    drainMs: ms(
      5000,
      'How long a gateway that is stopped waits for calls to end that no other gateway can go on with. Allow ' +
        'five seconds more before a process manager kills it.',
      0,
    ),
  }).prefault({}),
  sessions: group('Sessions of clients.', {
    idleMs: ms(1_800_000, 'How long a session may be idle before it ends.'),
    checkMs: every(300_000, 'How often idle sessions are looked for.'),
    max: count(1000, 'How many sessions there may be at once, at all gateways on a store together.'),
  }).prefault({}),
  events: group('What is kept until the client has seen it.', {
    perSession: count(1000, 'How many undelivered events a session keeps.'),
    total: count(100_000, 'How many events all sessions of a gateway together keep.'),
    notificationsPerServer: count(100, 'How many notifications of one server a session keeps.'),
    logsPerServer: count(500, 'How many log lines of one server a session keeps.'),
  }).prefault({}),
  history: group('What the console shows of calls and questions that are over.', {
    keepMs: ms(86_400_000, 'How long calls and questions are kept after their end. 0: nothing is recorded.', 0),
    bytes: z
      .int()
      .min(1_048_576)
      .max(2 ** 31 - 1)
      .default(67_108_864)
      .describe(
        'How much is kept, in the whole store; what ended first is deleted first. In a file it is a quarter of `limits.storeBytes` at most.',
      ),
    callsPerSecond: count(
      25,
      'How many calls a second have entries of their own; of more only the number is kept. Tasks and questions always have entries.',
      0,
    ),
    entryBytes: bytes(65_536, 'The largest arguments and results that are kept; of larger ones only the size is.'),
  }).prefault({}),
  audit: z
    .union([z.boolean(), auditSettings])
    .transform((given) => (given === true ? auditSettings.parse({}) : given === false ? undefined : given))
    .optional()
    .describe(
      'Turns the audit record on: `true`, or `{"keepMs", "bytes", "arguments"}`, all optional. A line for each call, question, ' +
        'answer, approval, sign-in and change of a server. Off by default. See docs/AUDIT.md.',
    ),
  notify: notifySchema.optional(),
  servers: group('Connections to servers.', {
    connect: group('Whether a new session connects to a server at once (`eager`) or on first use (`lazy`).', {
      commands: z.enum(['lazy', 'eager']).default('lazy').describe('When the program of a command server is started.'),
      urls: z.enum(['lazy', 'eager']).default('eager').describe('When a URL server is connected.'),
    }).prefault({}),
    connectTimeoutMs: ms(30_000, 'How long connecting may take.'),
    pingMs: every(30_000, 'How often a quiet connection is checked.'),
    pollTimeoutMs: ms(
      30_000,
      'How long a server may take to tell how its own task is doing; three times in a row ends it.',
    ),
    reconnect: group('What happens when a connection is lost.', {
      firstMs: ms(1000, 'The wait before the first attempt.'),
      factor: z.number().min(1).max(100).default(2).describe('What the wait is multiplied by after each attempt.'),
      maxMs: ms(60_000, 'The longest wait between two attempts.'),
      attempts: count(10, 'How many attempts are made before the server counts as failed.', 0),
      stableMs: ms(10_000, 'How long a connection must hold before the attempts are counted from zero again.'),
    })
      .checked(notMore('firstMs', 'maxMs'))
      .prefault({}),
  }).prefault({}),
  limits: group('Limits that protect the gateway.', {
    bodyBytes: bytes(4_194_304, 'The largest request body.'),
    messageBytes: bytes(16_777_216, 'The largest message that is taken from a server.'),
    resultBytes: bytes(16_777_216, 'The largest result of a task that is kept.'),
    entryBytes: bytes(
      65_536,
      'The largest notification, log message or event that is kept whole; longer ones are shortened.',
    ),
    questionBytes: bytes(4_194_304, 'The largest question of a server.'),
    sessionBytes: bytes(33_554_432, 'What one session may keep in memory: arguments, tasks, questions and events.'),
    totalBytes: bytes(134_217_728, 'What all sessions of a gateway together may keep in memory.'),
    storeBytes: z
      .int()
      .min(1_048_576)
      .max(2 ** 31 - 1)
      .default(1_073_741_824)
      .describe('How large the file of the store may become. When it is full, no new tasks are made.'),
    waitMs: ms(1_800_000, 'The longest a client may wait in one request.'),
    requestsPerSession: count(1000, 'Requests of one session, tool calls included, that may be open at once.'),
    requests: count(10_000, 'Requests of all sessions that may be open at once, at all gateways on a store together.'),
    principalShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe(
        'With several `auth.tokens`: the part of `sessions.max`, `tasks.max`, `events.total`, `limits.requests` and `limits.totalBytes` ' +
          'that is reserved for them in equal shares. The rest goes to the first that needs it.',
      ),
    subscriptionsPerServer: count(1000, 'Resources of one server that a session may subscribe to.'),
    serversPerPrincipal: count(50, 'Servers that the clients of one principal may add.'),
  }).prefault({}),
});

/** Fills in the defaults that depend on whether clients need a token. */
const completeSettings = settings.transform((given) => {
  const hasTokens = Object.keys(given.auth.tokens).length > 0 || given.auth.issuers.length > 0;
  const { addServerAddresses = hasTokens ? 'public' : 'any', allowServerChanges = !hasTokens } = given;
  return { ...given, addServerAddresses, allowServerChanges };
});

export const fileSchema = z.strictObject({
  $schema: z.string().optional().describe('The JSON Schema of this file, for editors.'),
  mcpServers: z
    .record(name, z.union([httpServer, commandServer]))
    .default({})
    .describe('The servers by name: each has a `url` or a `command`.'),
  meanwhile: completeSettings.prefault({}),
});

export type ServerEntry = z.Output<typeof httpServer> | z.Output<typeof commandServer>;

/** All settings, each with its value. */
export type Settings = Omit<z.Output<typeof completeSettings>, 'store' | 'logLevel' | 'models'> & {
  models: Record<string, ModelConfig>;
  store: string;
  logLevel: LogLevel;
};

export interface Config {
  settings: Settings;
  servers: Map<string, ServerConfig>;
  /** Names of the servers that the file disables. */
  disabled: readonly string[];
  /** Doubtful settings, each with its place in the file. */
  warnings: readonly string[];
  /** Whether the store was configured, and is not the default one. */
  ownStore: boolean;
  /** The file it was read from, if there was one. */
  file?: string;
  /** The variables of OpenTelemetry, if they name a collector for traces. */
  otel?: Readonly<Record<string, string>>;
}

// --- Made from the schema ----------------------------------------------------------------------------------------

export function configJsonSchema(): z.JsonSchemaNode & { $schema: string; title: string } {
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  return { $schema, title: 'Configuration of meanwhile', ...fileSchema.jsonSchema() };
}
