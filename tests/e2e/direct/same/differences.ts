/**
 * What a client gets through the gateway that is not what the server said: all of it, with the reason. Each entry changes the
 * answers of the server alone into those that are expected; one that does not occur fails the test like one that is missing.
 */
import { INFO } from '../../../servers/rich/eras.ts';
import { LEVELS, META, type Json } from '../../../servers/rich/wire.ts';
import { GATEWAY_IDENTITY, Dialler } from '../../../../src/south/dial.ts';
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
    from: 'the server’s own',
    to: 'tool calls as tasks, with list and cancel',
    why: 'the gateway can run calls of every server as tasks',
    between: [OLD, TO_OLD],
    apply: inResult('hello', ({ capabilities, ...rest }) => ({
      ...rest,
      capabilities: { ...object(capabilities), tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    })),
  },
  {
    what: '`capabilities.extensions["io.modelcontextprotocol/tasks"]`',
    from: 'the server’s own',
    to: '`{}`',
    why: 'the gateway can run calls of every server as tasks',
    between: [NEW, TO_NEW],
    apply: inResult('hello', ({ capabilities, ...rest }) => {
      const { extensions, ...others } = object(capabilities);
      const added = { ...object(extensions), 'io.modelcontextprotocol/tasks': {} };
      return { ...rest, capabilities: { ...others, extensions: added } };
    }),
  },
  {
    what: '`execution.taskSupport` of a tool',
    from: 'the server’s own',
    to: '`optional`',
    why: 'any call may run as a task, and none has to',
    between: [OLD, TO_OLD],
    apply: inTools((tool) => ({ ...tool, execution: { taskSupport: 'optional' } })),
  },
  {
    what: '`clientInfo`, as the server sees it',
    from: 'the client’s',
    to: 'the gateway’s',
    why: 'the gateway is the client of this connection',
    between: ALL,
    apply: inCaller((caller) => ({
      ...caller,
      clientInfo: { name: GATEWAY_IDENTITY.name, version: GATEWAY_IDENTITY.version },
    })),
  },
  {
    what: 'the client’s capabilities, as the server sees them',
    from: 'the client’s',
    to: 'the gateway’s',
    why: 'the gateway declares what any of its clients can answer: questions that this client cannot answer go to the hub',
    between: [OLD, TO_OLD, TO_NEW],
    apply: inCaller((caller, { pair }) => ({
      ...caller,
      capabilities: capabilitiesTold(pair),
    })),
  },
  {
    what: '`_meta` of notifications, as the server sees it',
    from: 'the client’s',
    to: 'the client’s, plus version, name and capabilities of the gateway',
    why: 'the gateway is the client of this connection, and modern clients identify themselves in every message',
    between: [NEW, TO_OLD],
    apply: inHeard((params, { pair }) =>
      withMeta(params, {
        [META.protocolVersion]: '2026-07-28',
        [META.clientInfo]: { name: GATEWAY_IDENTITY.name, version: GATEWAY_IDENTITY.version },
        [META.clientCapabilities]: capabilitiesTold(pair),
      }),
    ),
  },
  {
    what: '`progressToken` of a call, as the server sees it',
    from: 'absent if the client sent none',
    to: 'always present',
    why: 'the call may become a task, which shows the progress',
    between: ALL,
    apply: inTurn(
      inMirror('call mirror without arguments', (meta) => ({ ...meta, progressToken: 'a token' })),
      inResult('call steps without a token', (result) => ({ ...result, content: [{ type: 'text', text: 'done' }] })),
    ),
  },
  {
    what: '`_meta["io.modelcontextprotocol/serverInfo"]` of results',
    from: 'absent if the server does not name itself',
    to: 'the server’s name',
    why: 'modern results should name their server',
    between: [NEW, TO_NEW],
    apply: inResult(/^(?!hello)/, (result) => {
      const { _meta, ...rest } = result;
      return { ...rest, _meta: { [META.serverInfo]: INFO, ...object(_meta) } };
    }),
  },

  // --- What stays with the gateway ----------------------------------------------------------------------------------
  {
    what: 'vendor-specific requests from the server to the client',
    from: 'answered by the client',
    to: 'answered by the gateway: `-32601`, method not found',
    why: 'the gateway routes requests to a client that can answer, so it must know them',
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
    to: 'the result of `initialize`: `protocolVersion` and `serverInfo`, no caching hints',
    why: 'modern servers have no `initialize`',
    between: [TO_OLD],
    apply: inResult('hello', ({ supportedVersions: _versions, ttlMs: _ttl, cacheScope: _scope, _meta, ...rest }) => {
      const { [META.serverInfo]: serverInfo, ...meta } = object(_meta);
      return { ...rest, protocolVersion: '2025-11-25', serverInfo, _meta: meta };
    }),
  },
  {
    what: '`initialize`',
    from: '`protocolVersion` and `serverInfo`',
    to: 'the result of `server/discover`: `supportedVersions`, and the server’s name in `_meta`',
    why: 'legacy servers have no `server/discover`',
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
    why: 'legacy results are always complete',
    between: [TO_OLD],
    apply: inResult(/./, ({ resultType: _type, ...rest }) => rest),
  },
  {
    what: '`resultType`',
    from: 'absent',
    to: '`complete`',
    why: 'modern results must have a type',
    between: [TO_NEW],
    apply: inResult(/./, (result) => ({ resultType: 'complete', ...result })),
  },
  {
    what: '`ttlMs` and `cacheScope` of lists and reads',
    from: 'absent',
    to: '`0` and `private`',
    why: 'modern results must have them; a legacy result is valid only now and for this client',
    between: [TO_NEW],
    apply: inResult(/^(hello$|tools\/list|prompts\/list|resources\/|read )/, (result) => ({
      ttlMs: 0,
      cacheScope: 'private',
      ...result,
    })),
  },
  {
    what: '`ping`',
    from: 'does not exist',
    to: 'answered by the gateway',
    why: 'modern has no `ping`',
    between: [TO_OLD],
    apply: answered('ping', {}),
  },
  {
    what: '`ping`',
    from: 'answered',
    to: 'does not exist',
    why: 'modern has no `ping`',
    between: [TO_NEW],
    apply: unanswered('ping'),
  },

  // --- Logging -----------------------------------------------------------------------------------------------------
  {
    what: '`logging/setLevel`',
    from: 'does not exist: each request sets its log level',
    to: 'answered by the gateway, which sets the level on each request',
    why: 'modern has no log level per session',
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
    to: 'does not exist: the gateway sets the level that the request asks for',
    why: 'modern has no log level per session',
    between: [TO_NEW],
    apply: unanswered(/^level /),
  },

  {
    what: 'logs before the first `logging/setLevel`',
    from: 'none: requests set no level',
    to: 'from `info` on',
    why: 'a legacy server decides until the client sets a level',
    between: [TO_OLD],
    apply: inTurn(
      asAt('call talk before anybody wants to hear', 'call talk at info'),
      inMirror(/^call mirror/, (meta) => ({ ...meta, [META.logLevel]: 'info' })),
    ),
  },
  {
    what: 'the error for an unknown log level',
    from: 'the server’s message',
    to: 'the gateway’s message, with the same code',
    why: 'the gateway reads the level',
    between: [NEW, TO_NEW, TO_OLD],
    apply: (step, exchange, context) =>
      step === 'a level that is none' ? { ...exchange, reply: { error: unknownLevel(context) } } : exchange,
  },

  // --- Errors ------------------------------------------------------------------------------------------------------
  {
    what: 'the error code for an unknown resource',
    from: '`-32002`',
    to: '`-32602`',
    why: 'modern forbids the legacy code',
    between: [TO_NEW],
    apply: inError('read rich://missing', (error) => ({ ...error, code: -32_602 })),
  },
  {
    what: 'the error `-32042` (URL elicitation required)',
    from: 'an error with `elicitations`',
    to: '`input_required` with the URLs as elicitations',
    why: 'modern uses `input_required` instead; clients without URL elicitation get the error',
    between: [TO_NEW],
    apply: asRound(INFO),
  },

  // --- Structured content ------------------------------------------------------------------------------------------
  {
    what: '`structuredContent` that is not an object, and its `outputSchema`',
    from: 'any value',
    to: 'an object with that value as `result`',
    why: 'legacy clients accept only objects',
    between: [TO_OLD],
    apply: wrapRows,
  },

  // --- Subscriptions -----------------------------------------------------------------------------------------------
  {
    what: '`subscriptions/listen`',
    from: 'one stream with everything that was requested, acknowledged',
    to: '`resources/subscribe` and `resources/unsubscribe`, answered; `list_changed` comes without subscription',
    why: 'legacy has no `subscriptions/listen`',
    between: [TO_OLD],
    apply: inTurn(answered(/^(un)?subscribe$/, {}), inSaid(/./, withoutAcknowledgement)),
  },
  {
    what: '`resources/subscribe` and `resources/unsubscribe`',
    from: 'answered',
    to: '`subscriptions/listen`: one stream with everything that was requested, acknowledged',
    why: 'modern has no subscriptions outside the stream',
    between: [TO_NEW],
    apply: inTurn(unanswered(/^(un)?subscribe$/), acknowledged),
  },
  {
    what: 'a refused subscription',
    from: 'missing in the acknowledgement',
    to: 'an error',
    why: 'legacy answers for each resource',
    between: [TO_OLD],
    apply: withReply('subscribe to what is not there', {
      error: {
        code: -32_602,
        message: "the server does not report changes of 'rich://missing'",
        data: { uri: 'rich://missing' },
      },
    }),
  },
  {
    what: 'a refused subscription',
    from: 'an error',
    to: 'missing in the acknowledgement',
    why: 'modern answers for all resources at once',
    between: [TO_NEW],
    apply: unanswered('subscribe to what is not there'),
  },
  {
    what: '`_meta["io.modelcontextprotocol/subscriptionId"]` of notifications',
    from: 'the id of the stream’s request',
    to: 'absent',
    why: 'legacy has no such streams',
    between: [TO_OLD],
    apply: inSaid(/^change /, withoutSubscription),
  },
  {
    what: '`_meta["io.modelcontextprotocol/subscriptionId"]` of notifications',
    from: 'absent',
    to: 'the id of the stream’s request',
    why: 'modern requires it in every notification of the stream',
    between: [TO_NEW],
    apply: inSaid(/^change (?!what only)/, withSubscription),
  },
  {
    what: 'vendor-specific fields of `notifications/subscriptions/acknowledged`',
    from: 'present',
    to: 'absent',
    why: 'the gateway sends its own acknowledgement',
    between: [NEW],
    apply: inSaid(/^subscribe/, withoutVendor),
  },
  {
    what: 'log messages that belong to no request',
    from: 'sent',
    to: 'lost',
    why: 'modern log messages belong to requests',
    between: [TO_NEW],
    apply: inSaid(UNASKED, (message) => (message['method'] === 'notifications/message' ? undefined : message)),
  },
  {
    what: 'vendor-specific notifications that belong to no request',
    from: 'sent',
    to: 'lost; on stdio, those sent while a request is open are attributed to it',
    why: 'modern has no stream for them',
    between: [TO_NEW],
    over: 'HTTP',
    apply: inSaid(UNASKED, (message) => (message['method'] === 'notifications/vendor' ? undefined : message)),
  },
];

/** What the gateway may be asked in the place of its client. */
function capabilitiesTold(pair: Pair): Json {
  const roots = pair === NEW || pair === TO_NEW;
  return { ...new Dialler(1, { ...GATEWAY_IDENTITY, roots }).capabilities };
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
