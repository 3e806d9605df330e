import type { ServerConfig } from '../core/ports/server-config.ts';
import { directView } from '../core/session/kind.ts';
import { stderrLog, type Log } from '../lib/log.ts';
import { isLoopback } from '../north/http/guard.ts';
import { Program, type OpenStore } from '../program.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { AppConnection } from './connection.ts';
import { define, type Definition } from './definition.ts';
import { settingsFrom } from './settings.ts';
import { StoredTasks } from './task-controller.ts';
import type { ListenOptions, TaskServer, TaskServerOptions } from './types.ts';

/** The core wants a config for each server; this one is never started. */
const IN_PROCESS: ServerConfig = { command: process.execPath };

/** A server whose tools may take long and may ask, for clients of every kind. */
export function createTaskServer(options: TaskServerOptions): TaskServer {
  const definition = define(options);
  const { tasks, store } = options;
  if (tasks !== undefined && !(tasks instanceof StoredTasks)) {
    throw new TypeError("createTaskServer: 'tasks' was not created with createTaskController");
  }
  if (tasks !== undefined && store !== undefined) {
    throw new TypeError(
      "createTaskServer: 'store' and 'tasks' are both given; the tasks already have a store, so leave 'store' out",
    );
  }
  settingsFrom(options.settings, store);
  return new AppServer(definition, options, tasks);
}

class AppServer implements TaskServer {
  readonly #definition: Definition;
  readonly #options: TaskServerOptions;
  readonly #tasks: StoredTasks | undefined;
  /** Shared by all listeners. */
  #program: Promise<Program> | undefined;
  #closing: Promise<void> | undefined;

  constructor(definition: Definition, options: TaskServerOptions, tasks: StoredTasks | undefined) {
    this.#definition = definition;
    this.#options = options;
    this.#tasks = tasks;
  }

  async listen(options: ListenOptions = {}): Promise<string> {
    const { host = '127.0.0.1', tokens = {} } = options;
    if (!isLoopback(host) && Object.keys(tokens).length === 0) {
      throw new TypeError(`listen: other machines can reach '${host}'; set 'tokens', or listen on 127.0.0.1`);
    }
    const settings = settingsFrom(this.#options.settings, this.#options.store, options);
    const program = await this.#started();
    const { url } = await program.listen(directView(this.#definition.name), settings);
    return url;
  }

  async stdio(): Promise<void> {
    const { direct } = settingsFrom(this.#options.settings);
    const program = await this.#started();
    const { closed } = await program.listenOnStdio({ server: this.#definition.name, ...direct });
    await closed;
    await this.close();
  }

  async close(): Promise<void> {
    // If the start failed, its caller was told why.
    this.#closing ??= Promise.resolve(this.#program?.catch(() => undefined)).then((program) => program?.close());
    return this.#closing;
  }

  async #started(): Promise<Program> {
    if (this.#closing) throw new Error('the server is closed; create another one');
    this.#program ??= this.#start().catch((error: unknown) => {
      this.#program = undefined;
      throw error;
    });
    return this.#program;
  }

  async #start(): Promise<Program> {
    const settings = settingsFrom(this.#options.settings, this.#options.store);
    const log = stderrLog(settings);
    return Program.start({
      kind: 'server',
      openStore: async () => this.#openStore(settings.store, log),
      backends: async () => ({
        connect: (_server, _config, sink) => new AppConnection(this.#definition, this.#tasks, sink),
      }),
      servers: new Map([[this.#definition.name, IN_PROCESS]]),
      settings,
      log,
    });
  }

  async #openStore(path: string, log: Log): Promise<OpenStore> {
    const tasks = this.#tasks;
    if (tasks !== undefined) {
      tasks.claim();
      return { store: tasks.store, close: async () => tasks.release() };
    }
    const store = await openSqliteStore({ path, log });
    return { store, close: async () => store.close() };
  }
}
