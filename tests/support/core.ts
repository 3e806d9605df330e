/** A whole core in this process: only the servers and the time belong to the test. The test owns it. */
import type { Caller } from '../../src/core/call/request.ts';
import { openAudit } from '../../src/core/audit/open.ts';
import { Gateway } from '../../src/core/gateway.ts';
import { createPolicy } from '../../src/core/policy/policy-gate.ts';
import type { Accounts } from '../../src/core/ports/accounts.ts';
import type { Models } from '../../src/core/ports/models.ts';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import { directView, HUB_VIEW, type ClientRecord } from '../../src/core/session/kind.ts';
import type { OpenInteraction } from '../../src/core/interaction/interaction.ts';
import type { Session } from '../../src/core/session/session.ts';
import { createLog } from '../../src/lib/log.ts';
import { coreSettings } from './core-settings.ts';
import { MemoryDatabase } from './memory-database.ts';
import { defer } from './owned.ts';
import { ScriptedBackends } from './scripted-connection.ts';
import { TestClock } from './test-clock.ts';
import { turn } from './turn.ts';

export interface CoreOptions {
  settings?: Record<string, unknown>;
  servers?: Record<string, ServerConfig>;
  principals?: readonly string[];
  /** That of an earlier core. */
  database?: MemoryDatabase;
  /** Other cores use the database at the same time. */
  shared?: boolean;
  clock?: TestClock;
  backends?: ScriptedBackends;
  models?: Models;
  accounts?: Accounts;
}

export interface Core {
  gateway: Gateway;
  backends: ScriptedBackends;
  clock: TestClock;
  database: MemoryDatabase;
  /** Ends it as the program does. */
  stop: () => Promise<void>;
  /** The events that were logged. */
  logged: string[];
  /** The same with what was said of them. */
  logLines: { event: string; data?: Record<string, unknown> }[];
}

/** A caller that waits and is told nothing. */
export const SILENT: Caller = { onLeaving: () => () => {}, onProgress: () => {} };
export const ONE = { url: 'http://one.test/' };
export const LEGACY_CLIENT: ClientRecord = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {}, roots: {} },
  program: 'client',
};

export async function startCore(options: CoreOptions = {}): Promise<Core> {
  const { clock = new TestClock(), backends = new ScriptedBackends(), servers = { one: ONE } } = options;
  const { database = new MemoryDatabase(), principals = [], shared = false } = options;
  const store = database.open({ shared });
  const logged: string[] = [];
  const logLines: Core['logLines'] = [];
  const log = createLog('debug', (line) => {
    const entry = JSON.parse(line) as Core['logLines'][number];
    logLines.push(entry);
    logged.push(entry.event);
  });
  const settings = coreSettings({ servers: { connect: { urls: 'lazy' } }, ...options.settings });
  const audit = await openAudit(store, { settings, log, clock });
  const { models, accounts } = options;
  const policy = settings.rules.length > 0 ? createPolicy(settings.rules) : undefined;
  const loadBackends = async (): Promise<ScriptedBackends> => backends;
  const parts = { store, backends: loadBackends, settings, log, clock, principals, models, policy, audit, accounts };
  const gateway = new Gateway(parts);
  await gateway.start(new Map(Object.entries(servers)));
  const stop = async (): Promise<void> => {
    await gateway.close('the gateway is shutting down');
    await store.close();
  };
  defer(stop);
  return { gateway, backends, clock, database, logged, logLines, stop };
}

/** A client of the hub. */
export async function hubSession(gateway: Gateway, principal = 'local'): Promise<Session> {
  return gateway.open(principal, { view: HUB_VIEW, owner: { kind: 'connection' } });
}

/** A client that sees one server as it is, and has introduced itself. */
export async function directSession(
  gateway: Gateway,
  server = 'one',
  client: ClientRecord = LEGACY_CLIENT,
): Promise<Session> {
  return gateway.open('local', { view: directView(server), owner: { kind: 'client', client } });
}

/** Starts a call that becomes a task at once; tells the id of the task. */
export async function startTask(session: Session): Promise<string> {
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 1, asTask: true };
  const reply = await session.calls.execute(session.connection('one'), request, SILENT);
  await turn();
  if (reply.kind !== 'task') throw new Error('no task');
  return reply.task.id;
}

/** The one elicitation that is open. */
export async function asked(session: Session): Promise<OpenInteraction> {
  await turn();
  const [question, ...more] = session.interactions.list('elicitation');
  if (question === undefined || more.length > 0) throw new Error('there is not one question');
  return question;
}
