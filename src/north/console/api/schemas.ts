/** The schemas of the API, which validate requests and generate the OpenAPI file. */

import * as z from 'zod';
import { AUDIT_KINDS } from '../../../core/audit/line.ts';
import { isBesideConsole } from '../../../lib/return-path.ts';
import { samplingBlock } from '../../hub/tools/sampling.ts';

const time = z.number().describe('Milliseconds since 1970');
const json = z.record(z.string(), z.unknown());

export const CALL_STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'expired', 'lost'] as const;

export const questionSchema = z
  .object({
    id: z.string(),
    seq: z.int().describe('Increases with each change of any item'),
    kind: z.enum(['elicitation', 'sampling', 'roots']),
    mode: z.enum(['form', 'url']).optional(),
    status: z.enum(['open', 'accepted', 'declined', 'cancelled', 'completed', 'expired', 'rejected', 'lost']),
    server: z.string(),
    tool: z.string().optional(),
    callId: z.string().optional(),
    sessionId: z.string(),
    principal: z.string(),
    program: z.string().optional().describe('The client program'),
    createdAt: time,
    expiresAt: time,
    endedAt: time.optional(),
    answeredBy: z
      .object({ principal: z.string(), via: z.string(), name: z.string().optional() })
      .optional()
      .describe(
        'Who answered, and through what: console, client, tools, terminal, link, rule or model; `name` is the rule or model',
      ),
    reason: z
      .string()
      .optional()
      .describe('Why the question has no answer; for an open question, why a model did not answer'),
    message: z.string().optional(),
    approval: z
      .object({
        tool: z.string(),
        argumentsHash: z
          .string()
          .describe('SHA-256 of server, tool and arguments; the answer is valid for this call only'),
        approver: z.literal('person').optional().describe('A person must approve the call; hub tools cannot'),
        decision: z
          .string()
          .optional()
          .describe('allow, or always in this session; a denied call has the status `declined`'),
      })
      .optional()
      .describe('The gateway itself asks whether the call may be made; its arguments are in `params._meta`'),
    signIn: z
      .literal(true)
      .optional()
      .describe('The gateway itself asks the person to sign in to the server; the page is `params.url`'),
    presented: z.boolean().optional().describe('The client also shows the question'),
    secret: z.boolean().optional().describe('A field looks like a password: a server must not ask for one'),
    truncated: z.boolean().optional().describe('The question has ended, and its params were too large to store'),
    params: json.optional().describe("The server's own parameters; not in events"),
    arguments: json
      .optional()
      .describe('The arguments of the call; only for a single question and in lists of open questions'),
  })
  .meta({ id: 'Question' });

export type Question = z.infer<typeof questionSchema>;

const call = z.object({
  id: z.string(),
  seq: z.int(),
  taskId: z.string().optional().describe('The task that the call became'),
  server: z.string(),
  tool: z.string(),
  sessionId: z.string(),
  principal: z.string(),
  program: z.string().optional(),
  view: z.enum(['hub', 'direct', 'group', 'console']).describe('The endpoint of the call'),
  startedAt: time,
  endedAt: time.optional(),
  status: z.enum(CALL_STATUSES),
  isError: z.boolean().optional().describe('The tool reported an error'),
  progress: z.object({ progress: z.number(), total: z.number().optional(), message: z.string().optional() }).optional(),
  statusMessage: z.string().optional(),
  waits: z
    .array(z.object({ questionId: z.string(), from: time, to: time.optional() }))
    .describe('The times when the call waited for an answer'),
  argumentBytes: z.int(),
  resultBytes: z.int().optional(),
  truncated: z.boolean().optional().describe('The arguments or the result were too large to store'),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

export const callSchema = call.meta({ id: 'Call' });

export const callDetailsSchema = call
  .extend({
    arguments: json.optional(),
    result: json.optional(),
    questions: z.array(questionSchema),
  })
  .meta({ id: 'CallDetails' });

export const resultSchema = z.looseObject({ content: z.array(json).optional() });

export const summarySchema = z
  .object({
    kind: z.literal('summary'),
    id: z.string(),
    seq: z.int(),
    principal: z.string(),
    server: z.string(),
    tool: z.string(),
    from: time,
    to: time,
    count: z.int(),
    errors: z.int(),
    longestMs: z.number(),
  })
  .meta({ id: 'Summary', description: 'Calls made within one second, when there are too many to list each one' });

export type Call = z.infer<typeof callSchema>;
export type CallDetails = z.infer<typeof callDetailsSchema>;
export type Summary = z.infer<typeof summarySchema>;

const server = z.object({
  name: z.string(),
  addedBy: z.enum(['config file', 'client']),
  principal: z.string().optional().describe('The owner, if a client of another principal added the server'),
  transport: z.enum(['http', 'stdio']),
  address: z.string().describe('The URL without secrets, or the command'),
  state: z
    .enum(['idle', 'connecting', 'connected', 'waiting', 'failed'])
    .describe('The best state in any session; idle: no session has connected to the server'),
  sessions: z.int().describe('The number of connected sessions'),
  protocolVersion: z.string().optional(),
  era: z.string().optional(),
  tasks: z.string().optional().describe('The generation of tasks that the server supports'),
  implementation: z.looseObject({ name: z.string(), version: z.string() }).optional(),
  capabilities: json.optional(),
  instructions: z.string().optional(),
  latencyMs: z.number().optional().describe('The median duration of recent calls that did not wait for an answer'),
  error: z.string().optional(),
  fix: z.string().optional().describe('What to do about the error'),
  needsSignIn: z.literal(true).optional().describe('The person must sign in to the server first'),
  retryAt: time.optional(),
  calls: z.object({ lastHour: z.int(), errors: z.int() }).optional(),
});

export const serverSchema = server.meta({ id: 'Server' });

export const goneSchema = z.object({ name: z.string(), gone: z.literal(true) });

export const toolSchema = z
  .looseObject({
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: json.optional(),
    annotations: json.optional(),
  })
  .meta({ id: 'Tool' });

export const logLineSchema = z
  .object({
    time,
    level: z.string(),
    source: z.enum(['protocol', 'stderr', 'stdout']),
    logger: z.string().optional(),
    data: z.unknown(),
    truncated: z.boolean().optional(),
    sessionId: z.string(),
  })
  .meta({ id: 'LogLine' });

export const serverDetailsSchema = server
  .extend({
    tools: z.array(toolSchema).optional().describe('Absent until a session has read the tools; connect to read them'),
    log: z.array(logLineSchema).describe('The last 200 lines'),
  })
  .meta({ id: 'ServerDetails' });

export type Server = z.infer<typeof serverSchema>;
export type ServerDetails = z.infer<typeof serverDetailsSchema>;
export type LogLine = z.infer<typeof logLineSchema>;

export const sessionSchema = z
  .object({
    id: z.string(),
    principal: z.string(),
    program: z.string().optional(),
    view: z.enum(['hub', 'direct', 'group', 'console']),
    server: z.string().optional().describe('The server of a direct endpoint'),
    group: z.string().optional(),
    protocolVersion: z.string().optional(),
    createdAt: time,
    lastActiveAt: time,
    connected: z.boolean().describe('The client has a request or a stream open'),
    state: z
      .enum(['connected', 'away', 'dormant'])
      .describe('dormant: the session is stored, and no client has used it since a restart'),
    tasks: z.object({ running: z.int(), ended: z.int() }),
    questions: z.int().describe('The number of open questions'),
    servers: z.array(z.string()).describe('The servers to which the session is connected'),
    gateway: z.string().optional().describe('The gateway that owns the session, if there are several gateways'),
  })
  .meta({ id: 'Session' });

export type SessionItem = z.infer<typeof sessionSchema>;

export const meSchema = z
  .object({
    principal: z.string(),
    operator: z.boolean().describe('Sees and answers the questions and calls of all principals'),
    readOnly: z.boolean().optional().describe('Has read-only access'),
    gateway: z.object({ id: z.string().optional(), version: z.string(), startedAt: time }),
    history: z.object({ keepMs: z.int(), callsPerSecond: z.int() }),
    audit: z
      .object({ keepMs: z.int(), bytes: z.int(), arguments: z.enum(['hash', 'keep', 'none']) })
      .optional()
      .describe('Absent if the audit record is off'),
    endpoints: z.object({ hub: z.string(), all: z.string() }),
    demo: z.boolean().describe('Whether the person can start the demo with `POST /demo`'),
  })
  .meta({ id: 'Me' });

const account = {
  server: z.string(),
  principal: z.string(),
  issuer: z.string().describe('The authorization server'),
  scopes: z.array(z.string()),
};

export const accountSchema = z
  .object({
    ...account,
    expiresAt: time.optional().describe('When its access token expires'),
    renewable: z.boolean().describe('Whether the token is renewed automatically'),
  })
  .meta({ id: 'Account' });

export const neededSignInSchema = z
  .object({
    id: z.string(),
    ...account,
    expiresAt: time.describe('When the link expires'),
    url: z.string().optional().describe('The page where the sign-in starts'),
  })
  .meta({ id: 'NeededSignIn' });

export const signedOutAtServerSchema = z
  .object({ server: z.string(), signedOut: z.boolean().describe('`false` if there were no tokens') })
  .meta({ id: 'SignedOutAtServer' });

export const auditLineSchema = z
  .object({
    seq: z.int().describe('Increases with each line, across all gateways'),
    v: z.literal(1).describe('The version of the format'),
    gateway: z.string(),
    n: z.int().describe('The number of the line at its gateway; a missing number is a dropped line'),
    at: time,
    kind: z.enum(AUDIT_KINDS),
    event: z.enum([
      'began',
      'ended',
      'asked',
      'given',
      'accepted',
      'refused',
      'added',
      'replaced',
      'removed',
      'dropped',
    ]),
    principal: z.string().optional(),
    program: z.string().optional().describe('The client program'),
    sessionId: z.string().optional(),
    view: z.enum(['hub', 'direct', 'group', 'console']).optional(),
    server: z.string().optional(),
    tool: z.string().optional(),
    callId: z.string().optional(),
    taskId: z.string().optional(),
    questionId: z.string().optional(),
    asks: z.enum(['elicitation', 'sampling', 'roots']).optional(),
    mode: z.enum(['form', 'url']).optional(),
    startedAt: time.optional(),
    askedAt: time.optional(),
    outcome: z
      .enum(['completed', 'failed', 'cancelled', 'expired', 'lost', 'accepted', 'declined', 'rejected', 'refused'])
      .optional(),
    isError: z.boolean().optional().describe('The tool reported an error'),
    errorCode: z.number().optional(),
    answeredBy: z.object({ principal: z.string(), via: z.string(), name: z.string().optional() }).optional(),
    reason: z.string().optional(),
    contentHash: z.string().optional().describe('SHA-256 of the canonical JSON of arguments, a question or an answer'),
    contentBytes: z.int().optional(),
    content: z.unknown().optional().describe('With `audit.arguments: "keep"`'),
    place: z.enum(['console', 'api', 'mcp']).optional().describe('Where a key or a token was presented'),
    method: z.enum(['launch key', 'token', 'login']).optional(),
    address: z.string().optional().describe('The address of the peer, or of an added server'),
    count: z.int().optional(),
    from: time.optional(),
    to: time.optional(),
  })
  .meta({ id: 'AuditLine' });

export const errorSchema = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string().describe('The message, with the fix'),
      fields: z.record(z.string(), z.string()).optional().describe('The mistake in each invalid field of an answer'),
    }),
  })
  .meta({ id: 'Error' });

export const alreadyAnsweredSchema = errorSchema.extend({ question: questionSchema }).meta({ id: 'AlreadyAnswered' });
export const alreadyEndedSchema = errorSchema.extend({ call: callSchema }).meta({ id: 'AlreadyEnded' });

export const noticeSchema = z
  .object({
    id: z.string().describe('The same for each attempt'),
    target: z.string(),
    subject: z.string().describe('The question, task or server of the notification'),
    state: z.enum(['waiting', 'failed']),
    createdAt: time,
    dueAt: time.describe('The time of the next attempt'),
    attempts: z.int(),
    endedAt: time.optional(),
    error: z.string().optional().describe('The reason why the last attempt failed'),
  })
  .meta({ id: 'Notification' });

export function page(item: z.ZodType): z.ZodObject {
  return z.object({
    items: z.array(item),
    next: z.string().optional().describe('The cursor of the next page; absent on the last one'),
    total: z.int().optional().describe('The total number of items'),
  });
}

// --- Requests ----------------------------------------------------------------------------------------------------

const name = z.string().min(1).max(512);

const wholeNumber = (min: number, max: number) =>
  z.preprocess(
    (given) => (typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given),
    z.int(`expected a whole number from ${min} to ${max}`).min(min).max(max),
  );

const paging = {
  cursor: z.string().max(512).optional().describe('`next` from the previous page'),
  limit: wholeNumber(1, 200).default(50).describe('The maximum number of items, up to 200; 50 by default'),
};

const text = z.string().max(200).optional().describe('Part of a name, an id or a message');
const moment = wholeNumber(0, Number.MAX_SAFE_INTEGER).optional();

export const questionsQuery = z.strictObject({
  status: z
    .enum(['open', 'ended', 'all'])
    .default('open')
    .describe('Open questions are listed oldest first, ended questions newest first'),
  server: name.optional(),
  session: name.optional(),
  text,
  ...paging,
});

export const callsQuery = z.strictObject({
  status: z.enum(['running', 'waiting', 'ended', 'all']).default('all'),
  task: z
    .enum(['true', 'false'])
    .transform((given) => given === 'true')
    .optional()
    .describe('Only calls that became tasks, or only calls that did not'),
  server: name.optional(),
  tool: name.optional(),
  session: name.optional(),
  principal: name.optional().describe('Only calls of this principal; for operators'),
  text,
  outcome: z.enum(['completed', 'failed', 'cancelled', 'expired', 'lost']).optional(),
  from: moment.describe('Only calls that began at this time or later'),
  to: moment.describe('Only calls that began before this time'),
  ...paging,
});

export const sessionsQuery = z.strictObject({
  state: z
    .enum(['live', 'dormant', 'all'])
    .default('all')
    .describe(
      'live: sessions in the memory of gateways, all on the first page; dormant: sessions that are only stored',
    ),
  ...paging,
});

export const serverQuery = z.strictObject({
  principal: name.optional().describe('The owner of the server, if several principals have a server of that name'),
});

export const auditQuery = z.strictObject({
  kind: z.enum(AUDIT_KINDS).optional(),
  principal: name.optional().describe('The principal of the line, or the one who answered'),
  server: name.optional(),
  tool: name.optional(),
  session: name.optional(),
  text: text.describe('Part of the line; case does not matter'),
  from: moment.describe('Only lines from this time or later'),
  to: moment.describe('Only lines from before this time'),
  after: moment.describe('Only lines with a larger `seq`, oldest first'),
  ...paging,
});

export const eventsQuery = z.strictObject({
  after: wholeNumber(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Resumes after this `seq`, like the header `Last-Event-ID`; without either, only new changes are sent'),
});

export const answerBody = z
  .union([
    z.strictObject({ action: z.enum(['accept', 'decline', 'cancel']), content: json.optional() }),
    z.strictObject({
      result: z.looseObject({
        role: z.enum(['assistant', 'user']),
        content: z.union([samplingBlock, z.array(samplingBlock).min(1)]),
        model: z.string(),
        stopReason: z.string().optional(),
      }),
    }),
    z.strictObject({ error: z.strictObject({ message: z.string().min(1).max(2000) }) }),
  ])
  .meta({ id: 'Answer' });

export type AnswerBody = z.infer<typeof answerBody>;

export const tryBody = z.strictObject({ tool: name, arguments: json.default({}) }).meta({ id: 'Try' });

/** Empty, but JSON: a form of another site cannot send that. */
export const emptyBody = z.strictObject({}).default({});

export const beginBody = z
  .strictObject({
    issuer: z.string().max(2048).describe('One of those that GET of /console/sign-in lists'),
    to: z.string().max(2048).default('/console').describe('Where the person wants to go then'),
  })
  .meta({ id: 'SignInWithIssuer' });

export const choicesSchema = z
  .object({ issuers: z.array(z.object({ issuer: z.string(), title: z.string().describe('What people call it') })) })
  .meta({ id: 'SignInChoices' });

export const begunSchema = z
  .object({ url: z.string().describe('Where to send the browser') })
  .meta({ id: 'SignInBegun' });

export const signedOutSchema = z
  .object({ issuer: z.object({ title: z.string(), url: z.string() }).describe('Where to sign out there, too') })
  .meta({ id: 'SignedOut' });

export const passBody = z.strictObject({
  path: z.string().refine(isBesideConsole, 'expected a page of this gateway, such as /oauth/start/<id>'),
});

export const signedInSchema = z
  .object({
    pageKey: z.string().describe('The value of the header Meanwhile-Console, which each request with the cookie needs'),
  })
  .meta({ id: 'SignedIn' });

export const signInBody = z
  .strictObject({
    key: z.string().min(1).max(1024),
    fromLink: z.boolean().default(false).describe('The key came with a link, where tokens are not accepted'),
  })
  .meta({ id: 'SignIn' });
