import type { McpSubscription } from '@modelcontextprotocol/client';
import { unlessAborted } from '../lib/abort.ts';
import { INVALID_PARAMS, RpcError } from '../lib/rpc-error.ts';
import { ANY_RESULT } from '../lib/sdk/any-result.ts';
import { exactly, type ExactClient } from '../lib/sdk/exact-client.ts';
import { send } from './send.ts';

/**
 * A session's subscriptions to changes of a server, renewed on every connection. A legacy server is sent each resource and
 * pushes list changes unasked; a modern one pushes everything on one stream that the client opens.
 */
export class Subscriptions {
  readonly #uris: Set<string>;
  #stream: { client: ExactClient; subscription: McpSubscription } | undefined;
  /** Changes run one after the other: two at once would leave a stream open that is never closed. */
  #lastChange: Promise<unknown> = Promise.resolve();
  readonly #onStreamEnded: (client: ExactClient) => void;

  /** `onStreamEnded`: the server ended the stream; the connection may restore it. */
  constructor(uris: Iterable<string> | undefined, onStreamEnded: (client: ExactClient) => void) {
    this.#uris = new Set(uris);
    this.#onStreamEnded = onStreamEnded;
  }

  async add(client: ExactClient, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    this.#uris.add(uri);
    try {
      if (!client.isModern) {
        return await ask(client, 'resources/subscribe', uri, signal);
      }
      if (!(await unlessAborted(this.#listen(client), signal, aborted)).includes(uri)) {
        throw new RpcError(INVALID_PARAMS, `the server does not tell of changes of '${uri}'`, { uri });
      }
      return {};
    } catch (error) {
      this.#uris.delete(uri);
      // The stream that is being opened includes the resource.
      if (signal?.aborted && client.isModern) this.#listen(client).catch(() => {});
      throw error;
    }
  }

  async remove(client: ExactClient, uri: string, signal?: AbortSignal): Promise<Record<string, unknown>> {
    this.#uris.delete(uri);
    if (!client.isModern) {
      return ask(client, 'resources/unsubscribe', uri, signal);
    }
    await unlessAborted(this.#listen(client), signal, aborted);
    return {};
  }

  async restore(client: ExactClient): Promise<void> {
    if (client.isModern) {
      await this.#listen(client);
      return;
    }
    const asked = [...this.#uris].map(async (uri) => ask(client, 'resources/subscribe', uri));
    // A resource that is gone does not affect the others.
    const refused = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected');
    if (refused?.status === 'rejected') throw refused.reason;
  }

  /** Replaces the stream with one for all subscriptions; returns the resources that the server accepted. */
  async #listen(client: ExactClient): Promise<string[]> {
    const change = this.#lastChange.then(async () => this.#replace(client));
    // A failure rejects this change, not the next one.
    this.#lastChange = change.catch(() => {});
    return change;
  }

  async #replace(client: ExactClient): Promise<string[]> {
    const capabilities = client.getServerCapabilities() ?? {};
    const filter = {
      ...(capabilities.tools?.listChanged && { toolsListChanged: true }),
      ...(capabilities.resources?.listChanged && { resourcesListChanged: true }),
      ...(capabilities.prompts?.listChanged && { promptsListChanged: true }),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    };
    const before = this.#stream;
    this.#stream = undefined;
    if (Object.keys(filter).length > 0) {
      const subscription = await exactly(client.listen(filter));
      this.#stream = { client, subscription };
      void subscription.closed.then((cause) => {
        if (cause === 'remote' && this.#stream?.subscription === subscription) this.#onStreamEnded(client);
      });
    }
    if (before?.client === client) await before.subscription.close();
    return this.#stream?.subscription.honoredFilter.resourceSubscriptions ?? [];
  }
}

/**
 * Opens a stream for status changes of one task until `until` is aborted. Only servers with the extension have such streams;
 * all others are polled.
 */
export function listenForTask(client: ExactClient, taskId: string, until: AbortSignal): void {
  if (!client.isModern || until.aborted) return;
  const filter: Parameters<ExactClient['listen']>[0] & { taskIds: string[] } = { taskIds: [taskId] };
  client.listen(filter, { signal: until }).catch(() => {});
}

/** Without a signal, the limit of the SDK applies. */
async function ask(
  client: ExactClient,
  method: string,
  uri: string,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  if (signal !== undefined) return send(client, method, { uri }, { signal });
  return exactly(client.request({ method, params: { uri } }, ANY_RESULT));
}

const aborted = (): Error => new Error('the request was aborted');
