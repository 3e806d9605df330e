/**
 * A server by hand that uses all of the protocol, and puts fields of its own into every message, in either era. It has no SDK
 * around it, so what it says is what is on the wire. The two eras share their content; `rich/eras.ts` tells what differs.
 */
import { discovered, initialized, levelIn, MANNERS, type Manners } from './rich/eras.ts';
import { complete, getPrompt, PROMPTS } from './rich/prompts.ts';
import { Resources, RESOURCES, TEMPLATES } from './rich/resources.ts';
import { listOf, toolsOf } from './rich/tools.ts';
import { vendor, vendorMeta } from './rich/vendor.ts';
import {
  META,
  metaOf,
  Refusal,
  withoutEnvelope,
  type Era,
  type Json,
  type Peer,
  type Request,
  type RpcFailure,
  type Visitor,
} from './rich/wire.ts';
import { page } from './shared/page.ts';

interface Listen {
  readonly id: unknown;
  readonly filter: Json;
  readonly peer: Peer;
}

type Answer = (request: Request, peer: Peer, visitor: Visitor) => Json | Promise<Json>;

const PAGE = 4;

/** The filter under which a client of the new era wants to hear of a change. */
const WANTED_BY: Record<string, string> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

export class Rich {
  readonly era: Era;
  readonly #manners: Manners;
  readonly #methods: Record<string, Answer>;
  readonly #resources = new Resources();
  readonly #visitors = new Set<Visitor>();
  readonly #listens = new Set<Listen>();
  /** Requests to clients that wait for their answers. */
  readonly #asked = new Map<unknown, (answer: Json) => void>();
  /** Notifications of clients. */
  readonly #heard: Json[] = [];

  constructor(era: Era) {
    this.era = era;
    this.#manners = MANNERS[era];
    this.#methods = { ...this.#shared(), ...(era === 'legacy' ? this.#legacy() : this.#modern()) };
  }

  visit(say: Visitor['say']): Visitor {
    const visitor: Visitor = { say, subscribed: new Set(), level: undefined, caller: {} };
    this.#visitors.add(visitor);
    return visitor;
  }

  leave(visitor: Visitor): void {
    this.#visitors.delete(visitor);
  }

  async handle(request: Request, peer: Peer, visitor: Visitor): Promise<void> {
    const { id, method, params } = request;
    if (method === 'subscriptions/listen' && this.era === 'modern') {
      this.#listen(id, params, peer);
      return;
    }
    try {
      const answer = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
      if (answer === undefined) {
        throw new Refusal({ code: -32_601, message: `Method not found: ${method}`, data: { method } });
      }
      peer.reply(this.#manners.finish(method, await answer(request, peer, visitor)));
    } catch (error) {
      peer.fail(failureOf(error));
    }
  }

  hear(method: string, params: Json | undefined): void {
    if (method === 'notifications/cancelled') {
      for (const listen of this.#listens) if (listen.id === params?.['requestId']) this.#listens.delete(listen);
    } else if (method !== 'notifications/initialized') {
      this.#heard.push({ method, ...(params && { params }) });
    }
  }

  /** A client has answered a request of ours. */
  answered({ id, jsonrpc: _jsonrpc, ...answer }: Json): void {
    this.#asked.get(id)?.(answer);
    this.#asked.delete(id);
  }

  #shared(): Record<string, Answer> {
    const tools = toolsOf(this.era);
    return {
      'tools/list': paged('tools', listOf(tools)),
      'tools/call': (request, peer, visitor) => {
        const { name, arguments: args = {} } = request.params;
        const tool = Object.hasOwn(tools, String(name)) ? tools[String(name)] : undefined;
        if (tool === undefined) {
          throw new Refusal({ code: -32_602, message: `Unknown tool: ${String(name)}`, data: { name } });
        }
        const level = this.#manners.level(request, visitor);
        return tool.call({ ...request, args: args as Json, peer, level, tell: (...what) => this.#tell(...what) });
      },
      'resources/list': paged('resources', RESOURCES),
      'resources/templates/list': paged('resourceTemplates', TEMPLATES),
      'resources/read': ({ params }, peer) => this.#resources.read(params, peer, this.#manners.notFound),
      'prompts/list': paged('prompts', PROMPTS),
      'prompts/get': ({ params }) => getPrompt(params),
      'completion/complete': ({ params }) => complete(params),
      'vendor/echo': ({ params }) => ({ said: withoutEnvelope(params), ...vendorMeta('vendor/echo') }),
      'vendor/refuse': ({ params }) => {
        throw new Refusal({ code: 4716, message: 'refused', data: withoutEnvelope(params) });
      },
      'vendor/heard': () => ({ heard: [...this.#heard] }),
      'vendor/caller': (request, _peer, visitor) => ({ caller: this.#manners.caller(request, visitor) }),
    };
  }

  #legacy(): Record<string, Answer> {
    return {
      ping: () => ({}),
      initialize: ({ params: { clientInfo, capabilities } }, _peer, visitor) => {
        visitor.caller = { clientInfo, capabilities };
        return initialized();
      },
      'logging/setLevel': ({ params }, _peer, visitor) => {
        visitor.level = levelIn(params['level'] ?? null);
        return {};
      },
      'resources/subscribe': ({ params: { uri } }, _peer, visitor) => {
        if (!Resources.known(String(uri))) {
          throw new Refusal({ code: 4717, message: 'nothing to subscribe to', data: { uri } });
        }
        visitor.subscribed.add(String(uri));
        return vendorMeta('subscribe');
      },
      'resources/unsubscribe': ({ params: { uri } }, _peer, visitor) => {
        visitor.subscribed.delete(String(uri));
        return {};
      },
      /** Asks something that only vendors know, and tells what came back. */
      'vendor/ask': async (_request, _peer, visitor) => {
        const id = `question ${this.#asked.size}`;
        const answer = new Promise<Json>((resolve) => {
          this.#asked.set(id, resolve);
        });
        visitor.say('vendor/question', vendor('vendor/question'), id);
        return { answered: await answer };
      },
    };
  }

  #modern(): Record<string, Answer> {
    return { 'server/discover': () => discovered() };
  }

  #listen(id: unknown, params: Json, peer: Peer): void {
    const { resourceSubscriptions = [], ...changes } = params['notifications'] as Json;
    const uris = (resourceSubscriptions as string[]).filter((uri) => Resources.known(uri));
    const filter = { ...changes, ...(uris.length > 0 && { resourceSubscriptions: uris }) };
    const listen = { id, filter, peer };
    this.#listens.add(listen);
    peer.onGone(() => this.#listens.delete(listen));
    const { _meta } = vendorMeta('acknowledged');
    peer.say('notifications/subscriptions/acknowledged', {
      _meta: { ..._meta, [META.subscriptionId]: id },
      notifications: filter,
      ...vendor('acknowledged'),
    });
  }

  /** Says something that belongs to no request to all who want to hear it. */
  #tell(method: string, params?: Json): void {
    const uri = method === 'notifications/resources/updated' ? String(params?.['uri']) : undefined;
    if (this.era === 'legacy') {
      for (const { subscribed, say } of this.#visitors) {
        if (uri === undefined || subscribed.has(uri)) say(method, params);
      }
      return;
    }
    for (const { id, filter, peer } of this.#listens) {
      const uris = (filter['resourceSubscriptions'] ?? []) as string[];
      const wanted = uri === undefined ? filter[WANTED_BY[method] ?? ''] === true : uris.includes(uri);
      if (wanted) peer.say(method, { ...params, _meta: { ...metaOf(params ?? {}), [META.subscriptionId]: id } });
    }
  }
}

function paged(key: string, all: readonly Json[]): Answer {
  return ({ params }) => {
    const { items, next } = page(all, key === 'tools' ? PAGE : PAGE / 2, params['cursor'] as string | undefined);
    return { [key]: items, ...next, ...vendorMeta(key), ...vendor(key) };
  };
}

function failureOf(error: unknown): RpcFailure {
  if (error instanceof Refusal) return error.failure;
  const { code = -32_603, message } = error as Error & { code?: number };
  return { code, message };
}
