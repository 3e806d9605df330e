/** What the API takes and returns. Requests are validated with these schemas, and the OpenAPI file is made from them. */

import * as z from 'zod';
import { AUDIT_KINDS } from '../../../core/audit/line.ts';
import { samplingBlock } from '../../hub/tools/sampling.ts';

const time = z.number().describe('Milliseconds since 1970');
const json = z.record(z.string(), z.unknown());

export const CALL_STATUSES = ['running', 'waiting', 'completed', 'failed', 'cancelled', 'expired', 'lost'] as const;

export const questionSchema = z
  .object({
    id: z.string(),
    seq: z.int().describe('Grows with each change of any item'),
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
      .describe('Who answered, and where: console, client, tools, terminal or link; or a rule or model, with its name'),
    reason: z.string().optional().describe('Why there is no answer; of an open question, why a model did not answer'),
    message: z.string().optional(),
    approval: z
      .object({
        tool: z.string(),
        argumentsHash: z
          .string()
          .describe('SHA-256 of server, tool and arguments: the answer counts for this call only'),
        approver: z.literal('person').optional().describe('The tools of the hub cannot approve it'),
        decision: z.string().optional().describe('allow, or always in this session; a denial is `declined`'),
      })
      .optional()
      .describe('The gateway itself asks whether the call may be made; its arguments are in `params._meta`'),
    presented: z.boolean().optional().describe('Its client is being asked, too'),
    secret: z.boolean().optional().describe('A field looks like a password: a server must not ask for one'),
    truncated: z.boolean().optional().describe('It has ended, and its params were too large to be kept'),
    params: json.optional().describe("The server's own parameters; not in events"),
    arguments: json.optional().describe('Those of the call that asks; only of one question, and in lists of open ones'),
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
  view: z.enum(['hub', 'direct', 'group', 'console']).describe('Where it was made'),
  startedAt: time,
  endedAt: time.optional(),
  status: z.enum(CALL_STATUSES),
  isError: z.boolean().optional().describe('The tool reported an error'),
  progress: z.object({ progress: z.number(), total: z.number().optional(), message: z.string().optional() }).optional(),
  statusMessage: z.string().optional(),
  waits: z
    .array(z.object({ questionId: z.string(), from: time, to: time.optional() }))
    .describe('The time it spent waiting for a person'),
  argumentBytes: z.int(),
  resultBytes: z.int().optional(),
  truncated: z.boolean().optional().describe('Its arguments or its result were too large to be kept'),
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
  .meta({ id: 'Summary', description: 'Calls of one second that were too many to have items of their own' });

export type Call = z.infer<typeof callSchema>;
export type CallDetails = z.infer<typeof callDetailsSchema>;
export type Summary = z.infer<typeof summarySchema>;

const server = z.object({
  name: z.string(),
  addedBy: z.enum(['config file', 'client']),
  principal: z.string().optional().describe('Whose it is, where a client of another principal added it'),
  transport: z.enum(['http', 'stdio']),
  address: z.string().describe('The URL without secrets, or the command'),
  state: z
    .enum(['idle', 'connecting', 'connected', 'waiting', 'failed'])
    .describe('The best of all sessions; idle: no session has connected to it'),
  sessions: z.int().describe('How many sessions are connected to it'),
  protocolVersion: z.string().optional(),
  era: z.string().optional(),
  tasks: z.string().optional().describe('The generation of tasks that it keeps'),
  implementation: z.looseObject({ name: z.string(), version: z.string() }).optional(),
  capabilities: json.optional(),
  instructions: z.string().optional(),
  latencyMs: z.number().optional().describe('The median duration of its last calls that waited for nobody'),
  error: z.string().optional(),
  fix: z.string().optional().describe('What to do about the error'),
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
    tools: z.array(toolSchema).optional().describe('Absent until a session has read them: connect first'),
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
    server: z.string().optional().describe('The only server that it shows'),
    group: z.string().optional(),
    protocolVersion: z.string().optional(),
    createdAt: time,
    lastActiveAt: time,
    connected: z.boolean().describe('Its client is there: it has a request or a stream open'),
    state: z
      .enum(['connected', 'away', 'dormant'])
      .describe('dormant: it is only stored, since no client has used it after a restart'),
    tasks: z.object({ running: z.int(), ended: z.int() }),
    questions: z.int().describe('How many are open'),
    servers: z.array(z.string()).describe('The servers that it is connected to'),
    gateway: z.string().optional().describe('The gateway that has it, where there are several'),
  })
  .meta({ id: 'Session' });

export type SessionItem = z.infer<typeof sessionSchema>;

export const meSchema = z
  .object({
    principal: z.string(),
    operator: z.boolean().describe('Sees and answers what belongs to any principal'),
    gateway: z.object({ id: z.string().optional(), version: z.string(), startedAt: time }),
    history: z.object({ keepMs: z.int(), callsPerSecond: z.int() }),
    audit: z
      .object({ keepMs: z.int(), bytes: z.int(), arguments: z.enum(['hash', 'keep', 'none']) })
      .optional()
      .describe('Absent if there is no audit record'),
    endpoints: z.object({ hub: z.string(), all: z.string() }),
    demo: z.boolean().describe('Whether the person can start the demo with `POST /demo`'),
  })
  .meta({ id: 'Me' });

export const auditLineSchema = z
  .object({
    seq: z.int().describe('Grows from line to line, at all gateways'),
    v: z.literal(1).describe('The version of the format'),
    gateway: z.string(),
    n: z.int().describe('The number of the line at its gateway; missing numbers are dropped lines'),
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
    contentHash: z.string().optional().describe('Of arguments, a question or an answer: sha256 of the canonical JSON'),
    contentBytes: z.int().optional(),
    content: z.unknown().optional().describe('With `audit.arguments: "keep"`'),
    place: z.enum(['console', 'api', 'mcp']).optional().describe('Where a key or a token was presented'),
    method: z.enum(['launch key', 'token']).optional(),
    address: z.string().optional().describe('Of the other end of a connection, or of a server that was added'),
    count: z.int().optional(),
    from: time.optional(),
    to: time.optional(),
  })
  .meta({ id: 'AuditLine' });

export const errorSchema = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string().describe('Names the fix'),
      fields: z.record(z.string(), z.string()).optional().describe('What is wrong with each field of an answer'),
    }),
  })
  .meta({ id: 'Error' });

export const alreadyAnsweredSchema = errorSchema.extend({ question: questionSchema }).meta({ id: 'AlreadyAnswered' });
export const alreadyEndedSchema = errorSchema.extend({ call: callSchema }).meta({ id: 'AlreadyEnded' });

export const noticeSchema = z
  .object({
    id: z.string().describe('The same at each attempt'),
    target: z.string(),
    subject: z.string().describe('The question, task or server that it is about'),
    state: z.enum(['waiting', 'failed']),
    createdAt: time,
    dueAt: time.describe('When it is sent, or tried again'),
    attempts: z.int(),
    endedAt: time.optional(),
    error: z.string().optional().describe('Why the last attempt failed'),
  })
  .meta({ id: 'Notification' });

export function page(item: z.ZodType): z.ZodObject {
  return z.object({
    items: z.array(item),
    next: z.string().optional().describe('The cursor of the next page; absent on the last one'),
    total: z.int().optional().describe('How many there are in all'),
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
  cursor: z.string().max(512).optional().describe('`next` of the page before'),
  limit: wholeNumber(1, 200).default(50).describe('How many items at most, up to 200; 50 by default'),
};

const text = z.string().max(200).optional().describe('A part of names, ids and messages');
const moment = wholeNumber(0, Number.MAX_SAFE_INTEGER).optional();

export const questionsQuery = z.strictObject({
  status: z.enum(['open', 'ended', 'all']).default('open').describe('Open ones come oldest first, others newest first'),
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
    .describe('Whether they became tasks'),
  server: name.optional(),
  tool: name.optional(),
  session: name.optional(),
  principal: name.optional().describe('Whose calls, for operators'),
  text,
  outcome: z.enum(['completed', 'failed', 'cancelled', 'expired', 'lost']).optional(),
  from: moment.describe('They began at this time or later'),
  to: moment.describe('They began before this time'),
  ...paging,
});

export const sessionsQuery = z.strictObject({
  state: z
    .enum(['live', 'dormant', 'all'])
    .default('all')
    .describe('Those that gateways have in memory, which all are on the first page, or those that are only stored'),
  ...paging,
});

export const serverQuery = z.strictObject({
  principal: name.optional().describe('Whose server, where several principals have one of that name'),
});

export const auditQuery = z.strictObject({
  kind: z.enum(AUDIT_KINDS).optional(),
  principal: name.optional().describe('Whose line it is, or who answered'),
  server: name.optional(),
  tool: name.optional(),
  session: name.optional(),
  text: text.describe('A part of the line, in upper or lower case'),
  from: moment.describe('They happened at this time or later'),
  to: moment.describe('They happened before this time'),
  after: moment.describe('Only lines with a larger `seq`, the oldest first'),
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

/** Nothing has to be said, but it has to be JSON: a form of another page cannot send that. */
export const emptyBody = z.strictObject({}).default({});

export const signedInSchema = z
  .object({ pageKey: z.string().describe('For the header Meanwhile-Console of each request with the cookie') })
  .meta({ id: 'SignedIn' });

export const signInBody = z.strictObject({ key: z.string().min(1).max(1024) }).meta({ id: 'SignIn' });
