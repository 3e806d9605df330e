/** The parts that the gateway and the server library share: a store, the core and listeners, started and closed in order. */

import { openAudit } from './core/audit/open.ts';
import { Gateway, type GatewayParts } from './core/gateway.ts';
import type { ServerConfig } from './core/ports/server-config.ts';
import type { Store } from './core/ports/store.ts';
import { HttpListener, type HttpSettings } from './north/http/listener.ts';
import type { DirectView, HubView } from './core/session/kind.ts';
import type { StdioListener, StdioStreams, StdioView } from './north/stdio/listener.ts';
import { StoreError } from './store/store-error.ts';

export interface ProgramOptions extends Omit<GatewayParts, 'store' | 'audit'> {
  /** Also called for a second attempt after a damaged store: opening it again sets the damaged file aside. */
  openStore: () => Promise<OpenStore>;
  servers: ReadonlyMap<string, ServerConfig>;
  /** In `the … is shutting down`, which clients read. */
  kind: 'gateway' | 'server';
  /** Called when everything else is closed. */
  onClosed?: () => Promise<void>;
}

export interface OpenStore {
  store: Store;
  close: () => Promise<void>;
}

/** How long requests may take that other gateways have taken over in the end. */
const LAST_FORWARDS_MS = 1000;

export class Program {
  readonly gateway: Gateway;
  readonly #kind: ProgramOptions['kind'];
  readonly #closeStore: () => Promise<void>;
  readonly #onClosed: () => Promise<void>;
  readonly #http = new Set<HttpListener>();
  readonly #stdio = new Set<StdioListener>();
  #closing: Promise<void> | undefined;

  private constructor(gateway: Gateway, options: ProgramOptions, closeStore: () => Promise<void>) {
    this.gateway = gateway;
    this.#kind = options.kind;
    this.#closeStore = closeStore;
    this.#onClosed = options.onClosed ?? (async () => {});
  }

  static async start(options: ProgramOptions, attempt = 1): Promise<Program> {
    const { openStore, servers, kind: _kind, onClosed, ...others } = options;
    const { store, close } = await openStore();
    const audit = await openAudit(store, others).catch(async (error: unknown) => {
      await close();
      throw error;
    });
    const gateway = new Gateway({ ...others, store, audit });
    try {
      await gateway.start(servers);
    } catch (error) {
      // Sessions that were restored before have connections and child processes.
      await gateway.close('the start failed');
      await close();
      const damaged = error instanceof StoreError && error.code === 'STORE_DAMAGED';
      if (damaged && attempt === 1) return Program.start(options, 2);
      await onClosed?.();
      throw error;
    }
    return new Program(gateway, options, close);
  }

  /** Serves clients over HTTP: the hub and every server, or only one server. */
  async listen(root: HubView | DirectView, settings: HttpSettings): Promise<{ listener: HttpListener; url: string }> {
    const listener = new HttpListener(this.gateway, root, settings);
    const url = await listener.listen();
    this.#http.add(listener);
    if (this.#closing) await listener.close();
    return { listener, url };
  }

  /** Serves the one client on standard input and output. */
  async listenOnStdio(shown: StdioView, streams?: StdioStreams): Promise<StdioListener> {
    const { listenOnStdio } = await import('./north/stdio/listener.ts');
    const listener = await listenOnStdio(this.gateway, shown, streams);
    this.#stdio.add(listener);
    return listener;
  }

  /** Releases sessions, child processes, ports and the store. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Sessions that others go on with are reached here until their calls have ended, and others from here.
    const { clock, settings } = this.gateway;
    const deadline = clock.now() + settings.cluster.drainMs;
    if (this.#http.size > 0) await this.gateway.drain();
    const left = Math.max(LAST_FORWARDS_MS, deadline - clock.now());
    await Promise.all([...this.#http].map(async (listener) => listener.drain(left)));
    for (const listener of this.#http) listener.stopListening();
    // A session on stdio ends with its connection; those over HTTP are restored when the program starts again.
    for (const listener of this.#stdio) await listener.close();
    // Before the HTTP connections, so that clients get a last reply.
    await this.gateway.close(`the ${this.#kind} is shutting down`);
    for (const listener of this.#http) await listener.close();
    try {
      await this.#closeStore();
    } finally {
      await this.#onClosed();
    }
  }
}
