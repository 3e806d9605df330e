/** What the client does, step by step; the same with the server alone and through the gateway. */
import { FAILURES } from '../../../servers/rich/failures.ts';
import { vendor, vendorMeta } from '../../../servers/rich/vendor.ts';
import { META, type Era, type Json } from '../../../servers/rich/wire.ts';
import type { Trace } from './trace.ts';

export type Act =
  | { do: 'hello' }
  | { do: 'request'; method: string; params: Json | ((before: Trace) => Json); until?: (reply: Json) => boolean }
  | { do: 'notify'; method: string; params: Json }
  | { do: 'listen'; id: number; notifications: Json }
  | { do: 'hang up' };

export interface Step {
  readonly name: string;
  /** What a client of each era does; absent where it has nothing to say. */
  readonly legacy?: Act;
  readonly modern?: Act;
  /** How many notifications the server alone sends that belong to no request. */
  readonly news?: Record<Era, number>;
}

const TOKEN = 'the client’s token';

const SUBSCRIBED = 'rich://text';
const CHANGES = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

function both(name: string, act: Act, news?: Record<Era, number>): Step {
  return { name, legacy: act, modern: act, ...(news && { news }) };
}

function request(method: string, params: Json | ((before: Trace) => Json) = {}, name = method): Step {
  return both(name, { do: 'request', method, params });
}

function call(tool: string, args: Json = {}, name = tool, more: Json = {}): Step {
  return request('tools/call', { name: tool, arguments: args, ...more }, `call ${name}`);
}

function pages(method: string, count: number): Step[] {
  return Array.from({ length: count }, (_, index) => {
    const before = `${method} ${index}`;
    return request(method, (seen) => (index === 0 ? {} : { cursor: cursorOf(seen, before) }), `${method} ${index + 1}`);
  });
}

function cursorOf(seen: Trace, step: string): unknown {
  const { result } = (seen[step]?.reply ?? {}) as { result?: Json };
  return result?.['nextCursor'];
}

function read(uri: string, more: Json = {}): Step {
  return request('resources/read', { uri, ...more }, `read ${uri}`);
}

/** Talks while the client wants to hear what has at least that level. */
function talkAt(level: string): Step[] {
  const params = { name: 'talk', arguments: {} };
  return [
    {
      name: `level ${level}`,
      legacy: { do: 'request', method: 'logging/setLevel', params: { level } },
    },
    {
      name: `call talk at ${level}`,
      legacy: { do: 'request', method: 'tools/call', params },
      modern: { do: 'request', method: 'tools/call', params: { ...params, _meta: { [META.logLevel]: level } } },
    },
  ];
}

function change(name: string, what: string[], news: Record<Era, number>): Step {
  const params = { name: 'change', arguments: { what } };
  return both(`change ${name}`, { do: 'request', method: 'tools/call', params }, news);
}

export const SCRIPT: readonly Step[] = [
  both('hello', { do: 'hello' }),
  { name: 'ping', legacy: { do: 'request', method: 'ping', params: {} } },

  ...pages('tools/list', 3),
  ...pages('resources/list', 3),
  ...pages('resources/templates/list', 2),
  ...pages('prompts/list', 2),
  request('tools/list', { cursor: 'never given' }, 'tools/list with a wrong cursor'),
  request('prompts/list', { cursor: 'never given' }, 'prompts/list with a wrong cursor'),

  read('rich://text', { ...vendor('params'), ...vendorMeta('params') }),
  read('rich://blob'),
  read('rich://unicode/ünï ✓'),
  read('rich://slow', { _meta: { progressToken: TOKEN } }),
  read('rich://missing'),
  read('rich://refused'),
  // What a client may keep for a while, nobody else keeps for it.
  request('resources/read', { uri: 'rich://counter' }, 'read rich://counter, first'),
  request('resources/read', { uri: 'rich://counter' }, 'read rich://counter, again'),

  request('prompts/get', { name: 'everything', arguments: { city: 'Zürich', rest: '' } }, 'get everything'),
  request('prompts/get', { name: 'bare' }, 'get bare'),
  request('prompts/get', { name: 'refused' }, 'get refused'),
  request('prompts/get', { name: 'unknown' }, 'get unknown'),

  request(
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'everything', title: 'kept', ...vendor('ref') },
      argument: { name: 'city', value: 'Z', ...vendor('argument') },
      context: { arguments: { mood: 'good' }, ...vendor('context') },
    },
    'complete a prompt',
  ),
  request(
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'rich://item/{id}' }, argument: { name: 'id', value: '' } },
    'complete a resource',
  ),
  request(
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'everything' }, argument: { name: 'city', value: 'refused' } },
    'complete, refused',
  ),

  call('everything'),
  call('plain', { text: `${'long ✓ '.repeat(20_000)}\ud800` }),
  call('nothing'),
  call('rows'),
  call('broken'),
  call('naïve✓'),
  call('mirror', { region: 'nörd', list: [1, null], ...vendor('arguments') }, 'mirror', {
    ...vendor('params'),
    _meta: {
      ...vendorMeta('params')._meta,
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      progressToken: TOKEN,
    },
  }),
  request('tools/call', { name: 'mirror' }, 'call mirror without arguments'),
  call('steps', {}, 'steps', { _meta: { progressToken: TOKEN } }),
  call('steps', {}, 'steps with a number', { _meta: { progressToken: 0 } }),
  call('steps', {}, 'steps without a token'),
  call('unknown'),
  ...Object.keys(FAILURES).map((how) => call('refuse', { how }, `refuse with ${how}`)),
  call('refuse', { how: 'link' }, 'refuse with a link'),

  call('talk', {}, 'talk before anybody wants to hear'),
  ...talkAt('info'),
  ...talkAt('emergency'),
  ...talkAt('debug'),
  request('vendor/echo', { any: 'thing', ...vendor('vendor/echo'), ...vendorMeta('vendor/echo') }),
  request('vendor/refuse', { any: 'thing' }),
  request('vendor/caller'),
  request('vendor/ask'),
  request('no/such/method', { any: 'thing' }),

  {
    name: 'subscribe',
    legacy: { do: 'request', method: 'resources/subscribe', params: { uri: SUBSCRIBED } },
    modern: { do: 'listen', id: 4242, notifications: { ...CHANGES, resourceSubscriptions: [SUBSCRIBED] } },
    news: { legacy: 0, modern: 1 },
  },
  change('tools', ['tools'], { legacy: 1, modern: 1 }),
  change('all lists', ['prompts', 'resources', 'tools'], { legacy: 3, modern: 3 }),
  change('a resource', [SUBSCRIBED, 'rich://blob', SUBSCRIBED], { legacy: 2, modern: 2 }),
  change('what only vendors know', ['vendor', 'log'], { legacy: 2, modern: 0 }),
  {
    name: 'unsubscribe',
    legacy: { do: 'request', method: 'resources/unsubscribe', params: { uri: SUBSCRIBED } },
    modern: { do: 'hang up' },
  },
  change('a resource that nobody is subscribed to', [SUBSCRIBED], { legacy: 0, modern: 0 }),
  {
    name: 'subscribe to what is not there',
    legacy: { do: 'request', method: 'resources/subscribe', params: { uri: 'rich://missing' } },
    modern: {
      do: 'listen',
      id: 4243,
      notifications: { toolsListChanged: true, resourceSubscriptions: ['rich://missing'] },
    },
    news: { legacy: 0, modern: 1 },
  },
  // What came too much, and late, has come when this has.
  change('the last', ['rich://missing', 'tools'], { legacy: 1, modern: 1 }),

  both('tell', { do: 'notify', method: 'notifications/vendor', params: { ...vendor('tell'), ...vendorMeta('tell') } }),
  both('vendor/heard', {
    do: 'request',
    method: 'vendor/heard',
    params: {},
    until: ({ result }) => ((result as Json)['heard'] as Json[]).length > 0,
  }),
  {
    name: 'a level that is none',
    legacy: { do: 'request', method: 'logging/setLevel', params: { level: 'loud' } },
    modern: {
      do: 'request',
      method: 'tools/call',
      params: { name: 'plain', arguments: { text: 'a' }, _meta: { [META.logLevel]: 'loud' } },
    },
  },
  call('plain', { text: 'still there' }, 'plain after all that'),
];
