import { unlessAborted } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { INVALID_PARAMS, RpcError } from '../lib/rpc-error.ts';
import { isObject } from '../lib/values.ts';
import { listen, type Listening } from './peer/listening.ts';
import type { Peer } from './peer/peer.ts';
import { LazySet } from '../lib/lazy-collections.ts';
import { capabilitiesOf } from './server-info.ts';

/** How long a server may take to accept a renewed subscription. */
const RENEW_MS = 60_000;

/**
 * A session's subscriptions to changes of a server, renewed on every connection. A legacy server is sent each resource and
 * pushes list changes unasked; a modern one pushes everything on one stream that the client opens.
 */
export class Subscriptions {
  readonly #uris = new LazySet<string>();
  #stream: { peer: Peer; listening: Listening } | undefined;
  /** Changes run one after the other: two at once would leave a stream open that is never closed. */
  #lastChange: Promise<unknown> = Promise.resolve();
  readonly #clock: Clock;
  readonly #onStreamEnded: (peer: Peer) => void;

  /** `onStreamEnded`: the server ended the stream; the connection may restore it. */
  constructor(uris: Iterable<string> | undefined, clock: Clock, onStreamEnded: (peer: Peer) => void) {
    for (const uri of uris ?? []) this.#uris.add(uri);
    this.#clock = clock;
    this.#onStreamEnded = onStreamEnded;
  }

  async add(peer: Peer, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    this.#uris.add(uri);
    try {
      if (!peer.isModern) {
        return await ask(peer, 'resources/subscribe', uri, signal);
      }
      if (!(await unlessAborted(this.#listen(peer), signal, aborted)).includes(uri)) {
        throw new RpcError(INVALID_PARAMS, `the server does not report changes of '${uri}'`, { uri });
      }
      return {};
    } catch (error) {
      this.#uris.delete(uri);
      // The stream that is being opened includes the resource.
      if (signal?.aborted && peer.isModern) this.#listen(peer).catch(() => {});
      throw error;
    }
  }

  async remove(peer: Peer, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    this.#uris.delete(uri);
    if (!peer.isModern) {
      return ask(peer, 'resources/unsubscribe', uri, signal);
    }
    await unlessAborted(this.#listen(peer), signal, aborted);
    return {};
  }

  async restore(peer: Peer): Promise<void> {
    if (peer.isModern) {
      await this.#listen(peer);
      return;
    }
    const asked = [...this.#uris].map(async (uri) => ask(peer, 'resources/subscribe', uri));
    // A resource that is gone does not affect the others.
    const refused = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected');
    if (refused?.status === 'rejected') throw refused.reason;
  }

  /** Replaces the stream with one for all subscriptions; returns the resources that the server accepted. */
  async #listen(peer: Peer): Promise<string[]> {
    const change = this.#lastChange.then(async () => this.#replace(peer));
    // A failure rejects this change, not the next one.
    this.#lastChange = change.catch(() => {});
    return change;
  }

  async #replace(peer: Peer): Promise<string[]> {
    const capabilities = capabilitiesOf(peer);
    const tellsOf = (list: string): boolean => {
      const capability = capabilities[list];
      return isObject(capability) && capability['listChanged'] === true;
    };
    const filter = {
      ...(tellsOf('tools') && { toolsListChanged: true }),
      ...(tellsOf('resources') && { resourcesListChanged: true }),
      ...(tellsOf('prompts') && { promptsListChanged: true }),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    };
    const before = this.#stream;
    this.#stream = undefined;
    if (Object.keys(filter).length > 0) {
      const listening = await listen(peer, filter, this.#clock);
      this.#stream = { peer, listening };
      void listening.closed.then((how) => {
        if (how === 'lost' && this.#stream?.listening === listening) this.#onStreamEnded(peer);
      });
    }
    if (before?.peer === peer) before.listening.close();
    return this.#stream?.listening.uris ?? [];
  }
}

/**
 * Opens a stream for status changes of one task until `until` is aborted. Only servers with the extension have such streams;
 * all others are polled.
 */
export function listenForTask(peer: Peer, taskId: string, until: AbortSignal, clock: Clock): void {
  if (!peer.isModern || until.aborted) return;
  listen(peer, { taskIds: [taskId] }, clock, until).catch(() => {});
}

async function ask(peer: Peer, method: string, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
  return peer.request(method, { uri }, signal === undefined ? { timeoutMs: RENEW_MS } : { signal });
}

const aborted = (): Error => new Error('the request was aborted');
