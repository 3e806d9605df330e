/**
 * The configuration as a schema: what the file may say, what it means, and what holds when it says nothing. The JSON
 * Schema for editors and the reference of the settings are made from it.
 */

import type { ServerConfig } from '../core/ports/server-config.ts';
import { isPostgresUrl } from '../lib/postgres-url.ts';
import { isSecureUrl } from '../lib/secure-url.ts';
import { isAddressRange } from '../lib/addresses.ts';
import { parseKey } from '../lib/encryption-key.ts';
import * as z from '../lib/schema/kinds.ts';
import { LOG_FORMATS, LOG_LEVELS, type LogLevel } from '../lib/log.ts';
import { serverNameSchema as name } from '../lib/server-name.ts';
import { accessRuleSchema, MAX_ACCESS_RULES, quotasSchema } from './access-schema.ts';
import { MAX_RULES, ruleSchema } from './rule-schema.ts';
import { MAX_DELAY_MS } from '../lib/clock.ts';
import { answersSchema } from './answers.ts';
import { modelsSchema, type ModelConfig } from './models.ts';
import { serverAuthSchema } from './server-auth.ts';
import { notifySchema } from './notify-schema.ts';
import { URL_KEYS } from './server-entries.ts';

// --- Servers -----------------------------------------------------------------------------------------------------

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);

/** Must equal the issuer in tokens. Without https, an attacker on the network could issue tokens, except on this machine. */
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
    auth: serverAuthSchema,
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
      'What lines record of arguments, questions and answers: `hash` their SHA-256, `keep` also the contents up to 64 KiB, `none` neither.',
    ),
});

/** Keys that come another way could be anybody's, and tokens and the secret must not be read on the way. */
const secureUrl = z
  .string()
  .refine(isSecureUrl, 'expected a URL starting with https://, or with http:// on this machine')
  .optional();

/** What the gateway itself puts into the address of the authorization server. */
const OWN_PARAMETERS = new Set([
  'response_type',
  'response_mode',
  'client_id',
  'client_secret',
  'redirect_uri',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
]);

const DAY_MS = 86_400_000;

const consoleSignIn = group('Lets people sign in to the console with this issuer (OpenID Connect).', {
  clientId: z
    .string()
    .min(1)
    .describe('The id of the console at the issuer, with the redirect URI `<publicUrl>/console/callback`.'),
  clientSecret: z.string().min(1).optional().describe('Its secret, if it has one.'),
  clientAuth: z
    .enum(['basic', 'post'])
    .optional()
    .describe('How the secret is sent: in a header or in the body. By default as the metadata of the issuer says.'),
  title: z
    .string()
    .min(1)
    .max(60)
    .optional()
    .describe('What people call the issuer, on the button they press. By default its host name.'),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]+$/, 'not a valid scope'))
    .optional()
    .describe('The scopes to ask for, besides `openid`. By default `auth.scopes.use` and `auth.scopes.answer`.'),
  parameters: z
    .record(
      z.string().refine((key) => !OWN_PARAMETERS.has(key), 'the gateway sets this parameter itself'),
      z.string(),
    )
    .default({})
    .describe('More parameters for the authorization endpoint, such as `audience`, `resource` or `prompt`.'),
  claims: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe('Claims that the ID token must have with these values, such as `hd` with the domain of an organisation.'),
  sessionMs: z
    .int()
    .min(60_000)
    .max(7 * DAY_MS)
    .default(8 * 3_600_000)
    .describe('How long a person stays signed in.'),
}).optional();

const encryptionKey = z
  .string()
  .refine(
    (text) => parseKey(text) !== undefined,
    'expected 32 bytes in base64 or hex; make one with: openssl rand -base64 32',
  );

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
  console: consoleSignIn,
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
    .describe(
      'The address to listen on over HTTP. An address other than loopback needs `auth.tokens` or `auth.issuers`.',
    ),
  port: z.int().min(0).max(65_535).default(8080).describe('The port to listen on over HTTP; 0 means any free port.'),
  publicUrl: z
    .string()
    .refine(
      isGatewayAddress,
      'expected an address such as https://gateway.example.com, without a path, a query or credentials',
    )
    .optional()
    .describe(
      'The URL of the gateway for clients and people, such as `https://gateway.example.com`, if it differs from the address that the ' +
        'gateway listens on: behind a proxy, or with `auth.issuers`, whose tokens are issued for this URL.',
    ),
  advertise: z
    .string()
    .refine(
      isGatewayAddress,
      'expected an address such as http://gateway-1:8080, without a path, a query or credentials',
    )
    .optional()
    .describe(
      'The URL at which other gateways on the same `postgres://` store reach this one, such as `http://gateway-1:8080`. By default ' +
        'the address that it listens on, or the name of the machine if it listens on all addresses.',
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
      'Where sessions, tasks and questions are stored: a file, relative to the folder of this file, `:memory:`, or a database: ' +
        '`postgres://user:password@host/database`. ' +
        "By default `meanwhile/meanwhile.db` in the user's data folder; on stdio, one file for each project.",
    ),
  logLevel: z
    .enum(LOG_LEVELS)
    .optional()
    .describe('The lowest level of log lines that are written to stderr. By default `info`; on stdio, `warn`.'),
  logFormat: z
    .enum(LOG_FORMATS)
    .default('auto')
    .describe('The format of log lines: `json`, `text` for people, or `auto`: text on a terminal, JSON otherwise.'),
  auth: group('Who may connect over HTTP, and the key that encrypts the tokens of accounts on servers.', {
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
        'Bearer tokens by the name of their principal, with at least 16 characters each. Without any, clients need no token.',
      ),
    operators: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'People who see and answer the questions and calls of all principals in the console: names from `auth.tokens`, or ' +
          '`<subject>@<issuer>`. Without tokens and issuers, the person at this machine is an operator.',
      ),
    issuers: z
      .array(issuer)
      .refine(
        (issuers) => new Set(issuers.map(({ issuer: url }) => url)).size === issuers.length,
        'two entries have the same issuer; put both into one',
      )
      .default([])
      .describe(
        'OAuth authorization servers whose access tokens are accepted, besides `auth.tokens`. Clients discover them automatically.',
      ),
    scopes: z
      .union([z.literal(false), scopes])
      .prefault({})
      .describe('The names of the scopes in access tokens; `false` if the tokens have no scopes for the gateway.'),
    encryptionKey: z
      .union([encryptionKey, z.array(encryptionKey).refine((keys) => keys.length > 0, 'expected at least one key')])
      .optional()
      .describe(
        'The key that encrypts the tokens of [accounts on servers](ACCOUNTS.md), as a variable: 32 bytes in base64 or hex. Of a list, ' +
          'the first one encrypts and all decrypt. By default a key file beside the file of the store; with a `postgres://` store it has no default.',
      ),
    encryptionKeyFile: z
      .string()
      .min(1)
      .optional()
      .describe('A file with such keys, one a line, relative to the folder of this file.'),
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
      const { encryptionKey: key, encryptionKeyFile: file } = given as {
        encryptionKey?: unknown;
        encryptionKeyFile?: string;
      };
      if (key !== undefined && file !== undefined)
        issues.push({ code: 'custom', path: ['encryptionKeyFile'], message: 'remove it, or auth.encryptionKey' });
    })
    .prefault({}),
  allowedHosts: z
    .array(z.string().min(1))
    .default([])
    .describe('Host names, besides the local ones, by which clients may reach the gateway.'),
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
    .describe('Origins of web pages, besides the local ones, that may send requests.'),
  allowCommands: z
    .boolean()
    .default(false)
    .describe('Whether clients over HTTP may add command servers, which run on this machine.'),
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
      'The addresses of servers that clients may add: `any`, `public`, or a list of addresses and ranges, such as `10.1.0.0/16`, ' +
        'that are allowed besides public ones. By default `public` with `auth.tokens` or `auth.issuers`, `any` otherwise.',
    ),
  allowServerChanges: z
    .boolean()
    .optional()
    .describe(
      'Whether clients may replace and remove servers of the config file. Such a change affects all principals. ' +
        'By default `false` with `auth.tokens` or `auth.issuers`, `true` otherwise.',
    ),
  calls: group('Tool calls.', {
    timeoutMs: ms(
      50_000,
      'How long a call may take before it becomes a task, unless the client sets a timeout. Most clients stop waiting after 60 s.',
    ),
    onCancel: z
      .enum(['auto', 'cancel', 'keep'])
      .default('auto')
      .describe(
        'What happens to a call that its client cancels. `auto` continues it as a task if the reason says that the client ' +
          'stopped waiting, and stops it otherwise; `cancel` always stops it, also when a client of 2026-07-28 closes its request; ' +
          '`keep` always continues it.',
      ),
  }).prefault({}),
  tasks: group('Calls that became tasks.', {
    ttlMs: ms(300_000, 'How long a task may run, unless the client requests a TTL.'),
    maxTtlMs: ms(1_800_000, 'The longest TTL that a client may request.'),
    keepMs: ms(300_000, 'How long an ended task and its result are kept.'),
    cleanupMs: every(60_000, 'How often expired tasks are removed.'),
    perSession: count(
      100,
      'How many tasks a session may have. While that many are running, new calls are refused; a call in flight may still become a task.',
    ),
    max: count(10_000, 'How many tasks may be running in all sessions, on all gateways of a store together.'),
  })
    .checked(notMore('ttlMs', 'maxTtlMs'))
    .prefault({}),
  questions: group('Questions that servers ask while they work.', {
    timeoutMs: ms(600_000, 'How long a question stays open.'),
    perSession: count(100, 'How many open questions a session may have.'),
    via: z
      .enum(['tools', 'native', 'both'])
      .default('both')
      .describe(
        'How the client of a hub call gets questions while it waits: through the hub `tools`, through `native` protocol requests ' +
          'if the client supports them, or `both`; the first answer counts.',
      ),
    minDeclineMs: ms(
      500,
      'With `via: "both"`, the gateway assumes that no person saw a question that the client cancels, or declines faster than this: ' +
        'the question stays open for the tools. With 0 every decline counts.',
      0,
    ),
  }).prefault({}),
  answers: answersSchema,
  answersDryRun: z.boolean().default(false).describe('The rules in `answers` only log what they would have answered.'),
  models: modelsSchema,
  direct: group('Servers that clients see as they are, at `/mcp/<name>`.', {
    taskAfterMs: ms(2000, 'How long a call may take before it becomes a task, if the client supports tasks.'),
    takeOverMs: ms(60_000, 'How long a program that repeats a call it gave up gets the result of the first run.', 0),
  }).prefault({}),
  all: group('Many servers behind one endpoint: `/mcp/all` and `/mcp/<group>`.', {
    listTimeoutMs: ms(
      5000,
      'How long a list waits for a slow server; the list leaves the server out until it has answered.',
    ),
    listBytes: bytes(4_194_304, 'The largest list of one server; larger lists are left out.'),
    maxNameLength: z
      .int()
      .min(24)
      .max(128)
      .default(48)
      .describe(
        'The longest name of a tool or prompt; longer names are shortened. Many clients allow 64 characters, including their prefix.',
      ),
    helperTools: z
      .enum(['auto', 'always', 'never'])
      .default('auto')
      .describe(
        "Which clients also get the hub's tools for tasks and questions: `auto` for clients that support neither tasks nor " +
          'elicitation, `always` for all, `never` for none.',
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
      'Which calls run at once (`allow`), which need the approval of a person (`ask`), and which are refused (`deny`). The first rule ' +
        'that matches decides; if none matches, the call runs. See [rules](RULES.md).',
    ),
  access: z
    .array(accessRuleSchema)
    .refine((list) => list.length <= MAX_ACCESS_RULES, `more than ${MAX_ACCESS_RULES} rules`)
    .optional()
    .describe(
      'Who may use which servers and tools; what somebody may not use does not exist for them. The first rule that matches decides; ' +
        'without one nothing is allowed. Without `access` everybody may use everything. See [access](ACCESS.md).',
    ),
  quotas: quotasSchema
    .optional()
    .describe(
      'How much each principal may use: `{"callsPerMinute", "openCalls", "tasks", "questions", "sessions", "bytes", "overrides"}`, all ' +
        'optional. See [quotas](ACCESS.md#quotas).',
    ),
  cluster: group('Several gateways on one PostgreSQL database.', {
    leaseMs: ms(
      10_000,
      'How long a gateway may be silent before others take over its work; set the same value on all gateways.',
      1000,
    ),
    drainMs: ms(
      5000,
      'How long a stopping gateway waits for calls that no other gateway can continue. Let the process manager wait five seconds ' +
        'longer before it kills the gateway.',
      0,
    ),
  }).prefault({}),
  sessions: group('Sessions of clients.', {
    idleMs: ms(1_800_000, 'How long a session may be idle before it ends.'),
    checkMs: every(300_000, 'How often the gateway checks for idle sessions.'),
    max: count(1000, 'How many sessions may exist at once, on all gateways of a store together.'),
  }).prefault({}),
  events: group('What is kept until the client has seen it.', {
    perSession: count(1000, 'How many undelivered events a session keeps.'),
    total: count(100_000, 'How many events all sessions of a gateway together keep.'),
    notificationsPerServer: count(100, 'How many notifications of one server a session keeps.'),
    logsPerServer: count(500, 'How many log lines of one server a session keeps.'),
  }).prefault({}),
  history: group('What the console shows of calls and questions that are over.', {
    keepMs: ms(86_400_000, 'How long calls and questions are kept after they end. 0 turns the history off.', 0),
    bytes: z
      .int()
      .min(1_048_576)
      .max(2 ** 31 - 1)
      .default(67_108_864)
      .describe(
        'The largest size of the history in the store; entries that ended first are deleted first. In a file, at most a quarter of `limits.storeBytes`.',
      ),
    callsPerSecond: count(
      25,
      'How many calls per second get their own entries; further calls are only counted. Tasks and questions always have entries.',
      0,
    ),
    entryBytes: bytes(
      65_536,
      'The largest arguments and results that are kept; for larger ones, only the size is kept.',
    ),
  }).prefault({}),
  audit: z
    .union([z.boolean(), auditSettings])
    .transform((given) => (given === true ? auditSettings.parse({}) : given === false ? undefined : given))
    .optional()
    .describe(
      'Turns the audit record on: `true`, or `{"keepMs", "bytes", "arguments"}`, all optional. A line for each call, question, ' +
        'answer, approval, sign-in and server change. Off by default. See docs/AUDIT.md.',
    ),
  notify: notifySchema.optional(),
  servers: group('Connections to servers.', {
    connect: group('Whether a new session connects to a server at once (`eager`) or on first use (`lazy`).', {
      commands: z.enum(['lazy', 'eager']).default('lazy').describe('When the program of a command server is started.'),
      urls: z.enum(['lazy', 'eager']).default('eager').describe('When a URL server is connected.'),
    }).prefault({}),
    connectTimeoutMs: ms(30_000, 'How long connecting may take.'),
    pingMs: every(
      30_000,
      'How often a quiet connection is checked. The gateway checks its connections one after the other, at most 1,000 of them in this time.',
    ),
    pollTimeoutMs: ms(
      30_000,
      'How long a server may take to report the state of a native task; three timeouts in a row end the call.',
    ),
    reconnect: group('What happens when a connection is lost.', {
      firstMs: ms(1000, 'The wait before the first attempt.'),
      factor: z.number().min(1).max(100).default(2).describe('The factor by which the wait grows after each attempt.'),
      maxMs: ms(60_000, 'The longest wait between two attempts.'),
      attempts: count(10, 'How many attempts the gateway makes before the server counts as failed.', 0),
      stableMs: ms(10_000, 'How long a connection must last before the count of attempts starts again.'),
    })
      .checked(notMore('firstMs', 'maxMs'))
      .prefault({}),
  }).prefault({}),
  limits: group('Limits that protect the gateway.', {
    bodyBytes: bytes(
      4_194_304,
      'The largest request body. Up to 256 MB of a refused one are read and discarded, for at most 30 seconds, so that its client gets the error.',
    ),
    messageBytes: bytes(16_777_216, 'The largest message that is accepted from a server.'),
    resultBytes: bytes(16_777_216, 'The largest task result that is kept.'),
    entryBytes: bytes(
      65_536,
      'The largest notification, log message or event that is kept whole; longer ones are shortened.',
    ),
    questionBytes: bytes(4_194_304, 'The largest question from a server.'),
    sessionBytes: bytes(33_554_432, 'How much memory one session may use for arguments, tasks, questions and events.'),
    totalBytes: bytes(134_217_728, 'How much memory all sessions of a gateway together may use for the same.'),
    storeBytes: z
      .int()
      .min(1_048_576)
      .max(2 ** 31 - 1)
      .default(1_073_741_824)
      .describe('The largest size of the store file. When it is full, no new tasks are created.'),
    waitMs: ms(1_800_000, 'The longest a client may wait in one request.'),
    requestsPerSession: count(1000, 'How many requests, including tool calls, one session may have open at once.'),
    requests: count(
      10_000,
      'How many requests all sessions may have open at once, on all gateways of a store together.',
    ),
    principalShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe(
        'With several `auth.tokens`: the fraction of `sessions.max`, `tasks.max`, `events.total`, `limits.requests` and `limits.totalBytes` ' +
          'that is reserved for them in equal shares. The rest is first come, first served.',
      ),
    subscriptionsPerServer: count(1000, 'How many resources of one server a session may subscribe to.'),
    serversPerPrincipal: count(50, 'How many servers the clients of one principal may add.'),
  }).prefault({}),
});

/** Where people return after they have signed in. Without https, the redirect could be read and changed. */
const checkedSettings = settings.checked((given, issues) => {
  if (issues.length > 0) return;
  const { auth, publicUrl, host } = given as {
    auth: { issuers: { console?: object }[] };
    publicUrl?: string;
    host: string;
  };
  const index = auth.issuers.findIndex((each) => each.console !== undefined);
  if (index < 0 || isSecureUrl(publicUrl ?? `http://${host.includes(':') ? `[${host}]` : host}`)) return;
  const message =
    publicUrl === undefined
      ? 'people come back to `publicUrl` after they have signed in, which is missing; set it to the https address of the gateway'
      : 'people come back to `publicUrl` after they have signed in, so that it must begin with https://';
  issues.push({ code: 'custom', path: ['auth', 'issuers', index, 'console'], message });
});

/** Fills in the defaults that depend on whether clients need a token. */
const completeSettings = checkedSettings.transform((given) => {
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
