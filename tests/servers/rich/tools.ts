import { setImmediate as turn } from 'node:timers/promises';
import { BLOCKS, text } from './content.ts';
import { FAILURES, needsLink } from './failures.ts';
import { ICONS, vendor, vendorMeta } from './vendor.ts';
import { LEVELS, metaOf, Refusal, withoutEnvelope, type Era, type Json, type Peer, type Request } from './wire.ts';

export interface ToolCall extends Request {
  readonly args: Json;
  readonly peer: Peer;
  /** The least level of what the caller wants to hear; nothing, if there is none. */
  readonly level: string | undefined;
  /** Sends what belongs to no request. */
  readonly tell: (method: string, params?: Json) => void;
}

interface Tool {
  readonly declared?: Json;
  call(call: ToolCall): Json | Promise<Json>;
}

const ROWS = [{ id: 1 }, { id: 2 }];
const ROWS_SCHEMA = { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } };

export function toolsOf(era: Era): Record<string, Tool> {
  return {
    everything: {
      declared: {
        title: 'Everything',
        description: 'Every kind of content ✓',
        icons: ICONS,
        inputSchema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          properties: { city: { $ref: '#/$defs/city', default: null }, n: { type: 'integer', minimum: 0 } },
          $defs: { city: { type: ['string', 'null'], 'x-widget': 'map' } },
          additionalProperties: false,
          ...vendor('inputSchema'),
        },
        outputSchema: {
          type: 'object',
          properties: { total: { type: 'number' }, items: { type: 'array', items: { type: 'string' } } },
          required: ['total'],
          ...vendor('outputSchema'),
        },
        annotations: {
          title: 'All of it',
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false,
          'x-hint': 'kept',
        },
        ...vendorMeta('tool'),
        ...vendor('tool'),
      },
      call: () => ({
        content: BLOCKS,
        structuredContent: { total: 2.5, items: ['a', ''], ...vendor('structuredContent') },
        isError: false,
        ...vendorMeta('tools/call'),
        ...vendor('tools/call'),
      }),
    },
    plain: {
      declared: { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
      call: ({ args }) => text(String(args['text'])),
    },
    nothing: { call: () => ({ content: [] }) },
    /** Only the new era knows structured content that is no object. */
    rows: {
      declared: {
        outputSchema: era === 'modern' ? ROWS_SCHEMA : { type: 'object', properties: { result: ROWS_SCHEMA } },
      },
      call: () => ({ ...text(JSON.stringify(ROWS)), structuredContent: era === 'modern' ? ROWS : { result: ROWS } }),
    },
    broken: {
      call: () => ({ ...text('it broke'), isError: true, ...vendorMeta('broken'), ...vendor('broken') }),
    },
    /** Gives back what it was sent. */
    mirror: {
      declared: {
        inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
      },
      call: ({ params, paramHeaders }) => ({
        ...text('see the structured content'),
        structuredContent: { params: withoutEnvelope(params), paramHeaders },
      }),
    },
    steps: { call: reportSteps },
    /** Waits until `count` calls are there, and then does in turn what it says. */
    together: { call: together() },
    talk: { call: talk },
    /** Says what no request asked for; `what` tells in which order. */
    change: {
      call: ({ args, tell }) => {
        for (const what of args['what'] as string[]) change(what, tell);
        return text('changed');
      },
    },
    refuse: {
      call: ({ args }) => {
        throw new Refusal(FAILURES[String(args['how'])] ?? needsLink(era));
      },
    },
    'naïve✓': { declared: { title: 'A name that no header can hold' }, call: () => text('naïve') },
  };
}

function together(): Tool['call'] {
  let waiting: (() => void)[] = [];
  return async (call) => {
    const all = new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
    if (waiting.length === call.args['count']) {
      for (const go of waiting) go();
      waiting = [];
    }
    await all;
    // All begin before one of them ends.
    reportSteps(call);
    await turn();
    talk(call);
    await turn();
    return text(String(call.args['who']));
  };
}

function reportSteps({ params, peer }: ToolCall): Json {
  const { progressToken } = metaOf(params);
  if (progressToken === undefined) return text('nobody wanted to know');
  const say = (params: Json): void => peer.say('notifications/progress', { progressToken, ...params });
  say({ progress: 0 });
  say({ progress: 0.5, total: 3, message: 'half ✓', ...vendorMeta('progress'), ...vendor('progress') });
  say({ progress: 3, total: 3, message: '' });
  return text('done');
}

function talk({ peer, level }: ToolCall): Json {
  const least = level === undefined ? LEVELS.length : LEVELS.indexOf(level);
  const say = (at: string, params: Json): void => {
    if (LEVELS.indexOf(at) >= least) peer.say('notifications/message', { level: at, ...params });
  };
  say('debug', { data: 'details' });
  say('info', {
    logger: 'rich.talk',
    data: { list: [1, null], ...vendor('data') },
    ...vendorMeta('log'),
    ...vendor('log'),
  });
  peer.say('notifications/vendor', { about: 'the call', ...vendorMeta('notification'), ...vendor('notification') });
  say('warning', { logger: '', data: null });
  say('emergency', { data: ['a', 1, false] });
  return text('said');
}

function change(what: string, tell: ToolCall['tell']): void {
  switch (what) {
    case 'tools':
      // Without parameters, as most servers send it.
      tell('notifications/tools/list_changed');
      break;
    case 'resources':
    case 'prompts':
      tell(`notifications/${what}/list_changed`, { ...vendorMeta(what), ...vendor(what) });
      break;
    case 'vendor':
      tell('notifications/vendor', { about: 'nothing', ...vendorMeta('unasked'), ...vendor('unasked') });
      break;
    case 'log':
      tell('notifications/message', { level: 'alert', logger: 'rich', data: 'unasked', ...vendor('unasked log') });
      break;
    default:
      tell('notifications/resources/updated', { uri: what, ...vendorMeta('updated'), ...vendor('updated') });
  }
}

export function listOf(tools: Record<string, Tool>): Json[] {
  return Object.entries(tools).map(([name, { declared }]) => ({ name, inputSchema: { type: 'object' }, ...declared }));
}
