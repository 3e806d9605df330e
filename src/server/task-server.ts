import { Gateway } from '../core/gateway.ts';
import type { Backends, ServerConfig, Store } from '../core/ports.ts';
import { stderrLog } from '../lib/log.ts';
import { isLoopback } from '../north/http/guard.ts';
import { HttpListener } from '../north/http/listener.ts';
import { Hub } from '../north/hub/hub.ts';
import { listenOnStdio, type StdioListener } from '../north/stdio/listener.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { AppConnection } from './connection.ts';
import { define, type Definition } from './definition.ts';
import { settingsFrom } from './settings.ts';
import { StoredTasks } from './task-controller.ts';
import type { ListenOptions, TaskServer, TaskServerOptions } from './types.ts';

/** Nobody starts it: it is the one that runs. */
const HERE: ServerConfig = { command: process.execPath };

/** A server whose tools may take long and may ask, for clients of every kind. */
export function createTaskServer(options: TaskServerOptions): TaskServer {
  const definition = define(options);
  const { tasks, store } = options;
  if (tasks !== undefined && !(tasks instanceof StoredTasks)) {
    throw new TypeError("createTaskServer: 'tasks' is not what createTaskController gave");
  }
  if (tasks !== undefined && store !== undefined) {
    throw new TypeError(
      "createTaskServer: 'store' and 'tasks' are both given; the tasks bring their store, leave 'store' out",
    );
  }
  settingsFrom(options.settings, store);
  return new AppServer(definition, options, tasks);
}

class AppServer implements TaskServer {
  readonly #definition: Definition;
  readonly #options: TaskServerOptions;
  readonly #tasks: StoredTasks | undefined;
  readonly #http = new Set<HttpListener>();
  readonly #stdio = new Set<StdioListener>();
  #gateway: Promise<Gateway> | undefined;
  #closing: Promise<void> | undefined;

  constructor(definition: Definition, options: TaskServerOptions, tasks: StoredTasks | undefined) {
    this.#definition = definition;
    this.#options = options;
    this.#tasks = tasks;
  }

  async listen(options: ListenOptions = {}): Promise<string> {
    const { host = '127.0.0.1', tokens = {} } = options;
    if (!isLoopback(host) && Object.keys(tokens).length === 0) {
      throw new TypeError(`listen: '${host}' can be reached by others; give 'tokens', or listen on 127.0.0.1`);
    }
    const settings = settingsFrom(this.#options.settings, this.#options.store, options);
    const gateway = await this.#started();
    const listener = new HttpListener(gateway, new Hub(gateway), settings, { only: this.#definition.name });
    const url = await listener.listen();
    this.#http.add(listener);
    if (this.#closing) await listener.close();
    return url;
  }

  async stdio(): Promise<void> {
    const { direct } = settingsFrom(this.#options.settings);
    const gateway = await this.#started();
    const listener = await listenOnStdio(gateway, { server: this.#definition.name, ...direct });
    this.#stdio.add(listener);
    await listener.closed;
    await this.close();
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Shared by all ways in. */
  async #started(): Promise<Gateway> {
    if (this.#closing) throw new Error('the server is closed; create another one');
    this.#gateway ??= this.#start().catch((error: unknown) => {
      this.#gateway = undefined;
      throw error;
    });
    return this.#gateway;
  }

  async #start(): Promise<Gateway> {
    const settings = settingsFrom(this.#options.settings, this.#options.store);
    const log = stderrLog(settings);
    this.#tasks?.claim();
    const store = this.#tasks?.store ?? (await openSqliteStore({ path: settings.store, log }));
    const backends: Backends = {
      connect: (_server, _config, sink) => new AppConnection(this.#definition, this.#tasks, sink),
    };
    const gateway = new Gateway({ store, backends, settings, log });
    try {
      await gateway.start(new Map([[this.#definition.name, HERE]]));
    } catch (error) {
      await this.#letGo(store);
      throw error;
    }
    return gateway;
  }

  async #close(): Promise<void> {
    // Whoever started it has heard why it did not start.
    const gateway = await this.#gateway?.catch(() => undefined);
    if (gateway === undefined) return;
    for (const listener of this.#http) listener.stopListening();
    // The session ends with its connection; those over HTTP are there again when the program is.
    for (const listener of this.#stdio) await listener.close();
    await gateway.close('the server is shutting down');
    for (const listener of this.#http) await listener.close();
    await this.#letGo(gateway.store);
  }

  async #letGo(store: Store): Promise<void> {
    if (this.#tasks) this.#tasks.release();
    else await store.close();
  }
}
