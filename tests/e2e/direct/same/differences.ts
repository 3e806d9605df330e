/**
 * What a client gets through the gateway that is not what the server said: all of it, with the reason. Each entry changes the
 * answers of the server alone into those that are expected; one that does not occur fails the test like one that is missing.
 */
import { INFO } from '../../../servers/rich/eras.ts';
import { LEVELS, META, type Json } from '../../../servers/rich/wire.ts';
import { GATEWAY_FACE, Dialler } from '../../../../src/south/dial.ts';
import {
  acknowledged,
  answered,
  asAt,
  asRound,
  inCaller,
  inError,
  inHeard,
  inMirror,
  inResult,
  inSaid,
  inTools,
  inTurn,
  object,
  unanswered,
  withMeta,
  withoutAcknowledgement,
  withoutSubscription,
  withoutVendor,
  withReply,
  withSubscription,
  wrapRows,
  type Change,
  type Context,
  type Pair,
} from './changes.ts';
import type { Transport } from './wire-client.ts';

export interface Difference {
  readonly what: string;
  /** At the server alone. */
  readonly from: string;
  /** Through the gateway. */
  readonly to: string;
  readonly why: string;
  readonly between: readonly Pair[];
  /** Only with servers over this. */
  readonly over?: Transport;
  readonly apply: Change;
}

const OLD: Pair = 'legacy server, legacy client';
const NEW: Pair = 'modern server, modern client';
const TO_OLD: Pair = 'modern server, legacy client';
const TO_NEW: Pair = 'legacy server, modern client';

const UNASKED = 'change what only vendors know';
const ALL = [OLD, NEW, TO_OLD, TO_NEW];

export const DIFFERENCES: readonly Difference[] = [
  // --- What the gateway adds ---------------------------------------------------------------------------------------
  {
    what: '`capabilities.tasks`',
    from: 'what the server says',
    to: 'tool calls as tasks, with list and cancel',
    why: 'the gateway keeps the calls of every server as tasks',
    between: [OLD, TO_OLD],
    apply: inResult('hello', ({ capabilities, ...rest }) => ({
      ...rest,
      capabilities: { ...object(capabilities), tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    })),
  },
  {
    what: '`capabilities.extensions["io.modelcontextprotocol/tasks"]`',
    from: 'what the server says',
    to: '`{}`',
    why: 'the gateway keeps the calls of every server as tasks',
    between: [NEW, TO_NEW],
    apply: inResult('hello', ({ capabilities, ...rest }) => {
      const { extensions, ...others } = object(capabilities);
      const added = { ...object(extensions), 'io.modelcontextprotocol/tasks': {} };
      return { ...rest, capabilities: { ...others, extensions: added } };
    }),
  },
  {
    what: '`execution.taskSupport` of a tool',
    from: 'what the server says',
    to: '`optional`',
    why: 'any call may be made as a task, and none must be',
    between: [OLD, TO_OLD],
    apply: inTools((tool) => ({ ...tool, execution: { taskSupport: 'optional' } })),
  },
  {
    what: '`clientInfo`, as the server sees it',
    from: 'the client’s',
    to: 'the gateway’s',
    why: 'the connection is the gateway’s',
    between: ALL,
    apply: inCaller((caller) => ({
      ...caller,
      clientInfo: { name: GATEWAY_FACE.name, version: GATEWAY_FACE.version },
    })),
  },
  {
    what: 'the client’s capabilities, as the server sees them',
    from: 'the client’s',
    to: 'the gateway’s',
    why: 'the gateway answers for all who use it: what the client cannot be asked, others are asked in the hub',
    between: [OLD, TO_OLD, TO_NEW],
    apply: inCaller((caller, { pair }) => ({
      ...caller,
      capabilities: capabilitiesTold(pair),
    })),
  },
  {
    what: '`_meta` of notifications, as the server sees it',
    from: 'the client’s',
    to: 'the client’s, and the version, name and capabilities of the gateway',
    why: 'the connection is the gateway’s, which says in every message who speaks',
    between: [NEW, TO_OLD],
    apply: inHeard((params, { pair }) =>
      withMeta(params, {
        [META.protocolVersion]: '2026-07-28',
        [META.clientInfo]: { name: GATEWAY_FACE.name, version: GATEWAY_FACE.version },
        [META.clientCapabilities]: capabilitiesTold(pair),
      }),
    ),
  },
  {
    what: '`progressToken` of a call, as the server sees it',
    from: 'absent if the client gave none',
    to: 'always there',
    why: 'the call may become a task, which tells how far it is',
    between: ALL,
    apply: inTurn(
      inMirror('call mirror without arguments', (meta) => ({ ...meta, progressToken: 'a token' })),
      inResult('call steps without a token', (result) => ({ ...result, content: [{ type: 'text', text: 'done' }] })),
    ),
  },
  {
    what: '`_meta["io.modelcontextprotocol/serverInfo"]` of results',
    from: 'absent where the server does not name itself',
    to: 'the server’s name',
    why: 'results of the new era should say whose they are',
    between: [NEW, TO_NEW],
    apply: inResult(/^(?!hello)/, (result) => {
      const { _meta, ...rest } = result;
      return { ...rest, _meta: { [META.serverInfo]: INFO, ...object(_meta) } };
    }),
  },

  // --- What stays with the gateway ----------------------------------------------------------------------------------
  {
    what: 'requests of a vendor from the server to the client',
    from: 'answered by the client',
    to: 'answered by the gateway: `-32601`, method not found',
    why: 'the gateway keeps what servers ask and looks for somebody to answer it: it has to know what it is',
    between: [OLD, TO_NEW],
    apply: inTurn(
      inSaid('vendor/ask', () => undefined),
      inResult('vendor/ask', (result) => ({
        ...result,
        answered: { error: { code: -32_601, message: 'Method not found: vendor/question' } },
      })),
    ),
  },

  // --- What the eras call differently ------------------------------------------------------------------------------
  {
    what: '`server/discover`',
    from: '`supportedVersions`, and the server’s name in `_meta`',
    to: 'the answer to `initialize`: `protocolVersion` and `serverInfo`, nothing about caching',
    why: 'the new era has no `initialize`, which is said only once',
    between: [TO_OLD],
    apply: inResult('hello', ({ supportedVersions: _versions, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest }) => {
      const { [META.serverInfo]: serverInfo, ...meta } = object(_meta);
      return { ...rest, protocolVersion: '2025-11-25', serverInfo, _meta: meta };
    }),
  },
  {
    what: '`initialize`',
    from: '`protocolVersion` and `serverInfo`',
    to: 'the answer to `server/discover`: `supportedVersions`, and the server’s name in `_meta`',
    why: 'the old era has no `server/discover`',
    between: [TO_NEW],
    apply: inResult('hello', ({ protocolVersion: _version, serverInfo, _meta, ...rest }) => ({
      ...rest,
      supportedVersions: ['2026-07-28'],
      _meta: { ...object(_meta), [META.serverInfo]: serverInfo },
    })),
  },
  {
    what: '`resultType`',
    from: '`complete`',
    to: 'absent',
    why: 'the old era knows only results that are complete',
    between: [TO_OLD],
    apply: inResult(/./, ({ resultType: _type, ...rest }) => rest),
  },
  {
    what: '`resultType`',
    from: 'absent',
    to: '`complete`',
    why: 'every result of the new era says its type',
    between: [TO_NEW],
    apply: inResult(/./, (result) => ({ resultType: 'complete', ...result })),
  },
  {
    what: '`ttlMs` and `cacheScope` of lists and reads',
    from: 'absent',
    to: '`0` and `private`',
    why: 'the new era requires them; what a server of the old one says is good for this moment and this client',
    between: [TO_NEW],
    apply: inResult(/^(hello$|tools\/list|prompts\/list|resources\/|read )/, (result) => ({
      ttlMs: 0,
      cacheScope: 'private',
      ...result,
    })),
  },
  {
    what: '`ping`',
    from: 'not there',
    to: 'answered by the gateway',
    why: 'the new era has no `ping`',
    between: [TO_OLD],
    apply: answered('ping', {}),
  },
  {
    what: '`ping`',
    from: 'answered',
    to: 'not there',
    why: 'the new era has no `ping`',
    between: [TO_NEW],
    apply: unanswered('ping'),
  },

  // --- Logging -----------------------------------------------------------------------------------------------------
  {
    what: '`logging/setLevel`',
    from: 'not there: each request says the level that it wants to hear',
    to: 'answered by the gateway, which says the level with each request',
    why: 'the new era has no level of a session',
    between: [TO_OLD],
    apply: inTurn(
      answered(/^level /, {}),
      inResult('vendor/echo', ({ said, ...rest }) => ({ ...rest, said: withMeta(said, { [META.logLevel]: 'debug' }) })),
      inError('vendor/refuse', ({ data, ...rest }) => ({
        ...rest,
        data: withMeta(data, { [META.logLevel]: 'debug' }),
      })),
    ),
  },
  {
    what: '`logging/setLevel`',
    from: 'sets the level of the session',
    to: 'not there: the gateway sets it to what a request wants to hear',
    why: 'the new era has no level of a session',
    between: [TO_NEW],
    apply: unanswered(/^level /),
  },

  {
    what: 'logs before the first `logging/setLevel`',
    from: 'none: requests say no level',
    to: 'from `info` on',
    why: 'in the old era the server decides, as long as the client says nothing',
    between: [TO_OLD],
    apply: inTurn(
      asAt('call talk before anybody wants to hear', 'call talk at info'),
      inMirror(/^call mirror/, (meta) => ({ ...meta, [META.logLevel]: 'info' })),
    ),
  },
  {
    what: 'the refusal of an unknown log level',
    from: 'in the server’s words',
    to: 'in the gateway’s, with the same code',
    why: 'it is the gateway that reads the level',
    between: [NEW, TO_NEW, TO_OLD],
    apply: (step, exchange, context) =>
      step === 'a level that is none' ? { ...exchange, reply: { error: unknownLevel(context) } } : exchange,
  },

  // --- Errors ------------------------------------------------------------------------------------------------------
  {
    what: 'the error code of a resource that is not there',
    from: '`-32002`',
    to: '`-32602`',
    why: 'the new era forbids the code of the old one',
    between: [TO_NEW],
    apply: inError('read rich://missing', (error) => ({ ...error, code: -32_602 })),
  },
  {
    what: 'the error `-32042`, which wants links visited first',
    from: 'an error with `elicitations`',
    to: 'a round: `input_required` with the links as questions',
    why: 'the new era has rounds in its place; clients that take no links get the error',
    between: [TO_NEW],
    apply: asRound(INFO),
  },

  // --- Structured content ------------------------------------------------------------------------------------------
  {
    what: '`structuredContent` that is no object, and its `outputSchema`',
    from: 'any value',
    to: 'an object with that value as `result`',
    why: 'the old era knows only objects, and its clients refuse anything else',
    between: [TO_OLD],
    apply: wrapRows,
  },

  // --- Subscriptions -----------------------------------------------------------------------------------------------
  {
    what: '`subscriptions/listen`',
    from: 'one stream with all that was asked for, acknowledged',
    to: '`resources/subscribe` and `resources/unsubscribe`, answered; changes of lists come unasked',
    why: 'the old era has no `subscriptions/listen`',
    between: [TO_OLD],
    apply: inTurn(answered(/^(un)?subscribe$/, {}), inSaid(/./, withoutAcknowledgement)),
  },
  {
    what: '`resources/subscribe` and `resources/unsubscribe`',
    from: 'answered',
    to: '`subscriptions/listen`: one stream with what was asked for, acknowledged',
    why: 'the new era has no subscriptions beside the stream',
    between: [TO_NEW],
    apply: inTurn(unanswered(/^(un)?subscribe$/), acknowledged),
  },
  {
    what: 'the refusal of a subscription',
    from: 'left out of what is acknowledged',
    to: 'an error',
    why: 'the old era answers for each resource',
    between: [TO_OLD],
    apply: withReply('subscribe to what is not there', {
      error: {
        code: -32_602,
        message: "the server does not tell of changes of 'rich://missing'",
        data: { uri: 'rich://missing' },
      },
    }),
  },
  {
    what: 'the refusal of a subscription',
    from: 'an error',
    to: 'left out of what is acknowledged',
    why: 'the new era answers for all resources at once',
    between: [TO_NEW],
    apply: unanswered('subscribe to what is not there'),
  },
  {
    what: '`_meta["io.modelcontextprotocol/subscriptionId"]` of notifications',
    from: 'the id of the stream’s request',
    to: 'absent',
    why: 'the old era has no such streams',
    between: [TO_OLD],
    apply: inSaid(/^change /, withoutSubscription),
  },
  {
    what: '`_meta["io.modelcontextprotocol/subscriptionId"]` of notifications',
    from: 'absent',
    to: 'the id of the stream’s request',
    why: 'the new era names it in every notification of the stream',
    between: [TO_NEW],
    apply: inSaid(/^change (?!what only)/, withSubscription),
  },
  {
    what: 'vendors’ fields of `notifications/subscriptions/acknowledged`',
    from: 'there',
    to: 'absent',
    why: 'the gateway acknowledges by itself what it takes on',
    between: [NEW],
    apply: inSaid(/^subscribe/, withoutVendor),
  },
  {
    what: 'logs that belong to no request',
    from: 'sent unasked',
    to: 'lost',
    why: 'the new era has logs of requests only',
    between: [TO_NEW],
    apply: inSaid(UNASKED, (message) => (message['method'] === 'notifications/message' ? undefined : message)),
  },
  {
    what: 'notifications of a vendor that belong to no request',
    from: 'sent unasked',
    to: 'lost; those of a program that come while a request is open are taken for the request’s',
    why: 'the new era has no stream for them',
    between: [TO_NEW],
    over: 'HTTP',
    apply: inSaid(UNASKED, (message) => (message['method'] === 'notifications/vendor' ? undefined : message)),
  },
];

/** What the gateway may be asked in the place of its client. */
function capabilitiesTold(pair: Pair): Json {
  const roots = pair === NEW || pair === TO_NEW;
  return { ...new Dialler(1, { ...GATEWAY_FACE, roots }).capabilities };
}

/** Of a request it is the SDK that reads the level, and says less on stdio. */
function unknownLevel({ pair, transport }: Context): Json {
  const code = -32_602;
  if (pair === TO_OLD) return { code, message: 'unknown log level "loud"' };
  const problem = `Invalid option: expected one of ${LEVELS.map((level) => JSON.stringify(level)).join('|')}`;
  const message = 'Invalid _meta envelope for protocol revision 2026-07-28: ';
  if (transport === 'stdio') return { code, message: `${message}${problem}` };
  const key = META.logLevel;
  return { code, message: `${message}${key}: ${problem}`, data: { envelope: { key, problem } } };
}
