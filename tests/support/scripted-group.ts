/** A gateway over HTTP in this process, in front of several servers that the test plays. The test owns it and moves its time. */
import type { Backends } from '../../src/core/ports/connection.ts';
import { createLog } from '../../src/lib/log.ts';
import { RpcError } from '../../src/lib/rpc-error.ts';
import { HUB_VIEW } from '../../src/core/session/kind.ts';
import { Program } from '../../src/program.ts';
import { coreSettings } from './core-settings.ts';
import type { LogLine } from './gateway.ts';
import { MemoryDatabase } from './memory-database.ts';
import { defer } from './owned.ts';
import { SCRIPTED_INFO, ScriptedBackends } from './scripted-connection.ts';
import { TestClock } from './test-clock.ts';

type Params = Record<string, unknown>;
type Lists = Record<'tools' | 'resources' | 'resourceTemplates' | 'prompts', Params[]>;

const METHODS = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
} as const;

/** Everything that a server can have, and that it tells of changes. */
export const FULL = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

export const TRAITS = {
  legacy: SCRIPTED_INFO.traits,
  modern: { sessions: false, asksInRounds: true, declaredPerRequest: true },
};

/** One server, which has its lists and the contents of its resources. */
export class PlayedServer extends ScriptedBackends {
  readonly lists: Lists;
  /** The text of each resource. */
  readonly texts: Record<string, string> = {};
  /** How often each method was asked. */
  readonly asked: Record<string, number> = {};

  constructor(lists: Partial<Lists> = {}) {
    super();
    this.lists = { tools: [], resources: [], resourceTemplates: [], prompts: [], ...lists };
    this.info = { ...SCRIPTED_INFO, capabilities: FULL };
    for (const [method, key] of Object.entries(METHODS)) {
      this.methods[method] = () => {
        this.asked[method] = (this.asked[method] ?? 0) + 1;
        return { [key]: [...this.lists[key]] };
      };
    }
    this.methods['resources/read'] = ({ uri }) => {
      const text = this.texts[String(uri)];
      if (text === undefined) throw new RpcError(-32002, 'Resource not found', { uri });
      return { contents: [{ uri, text }] };
    };
  }

  /** Tells the connected clients that a list has changed. */
  tellChanged(kind: 'tools' | 'resources' | 'prompts'): void {
    for (const each of this.connections) {
      if (each.status.state === 'connected') each.say(`notifications/${kind}/list_changed`, undefined);
    }
  }

  /** It cannot be reached from now on. */
  goAway(): void {
    this.unreachable = 'it is away';
    for (const each of this.connections) if (each.status.state === 'connected') each.lose();
  }

  /** It is there again. */
  comeBack(): void {
    this.unreachable = undefined;
    for (const each of this.connections) if (each.status.state !== 'closed') each.comeBack();
  }
}

export interface ScriptedGroup {
  /** The address of the hub. */
  url: string;
  /** That of all servers. */
  all: string;
  clock: TestClock;
  logs: LogLine[];
  close: () => Promise<void>;
}

interface GroupOptions {
  settings?: Params;
  clock?: TestClock;
  database?: MemoryDatabase;
  /** Those of the servers that are not configured, for clients to add. */
  unconfigured?: readonly string[];
}

export async function scriptedGroup(
  servers: Record<string, PlayedServer>,
  options: GroupOptions = {},
): Promise<ScriptedGroup> {
  const { settings: given = {}, clock = new TestClock(), database = new MemoryDatabase(), unconfigured = [] } = options;
  const logs: LogLine[] = [];
  const log = createLog('debug', (line) => logs.push(JSON.parse(line) as LogLine));
  const settings = coreSettings({ port: 0, servers: { connect: { urls: 'lazy' } }, ...given });
  const backends: Backends = {
    connect: (server, config, sink, traits) => {
      const played = servers[server];
      if (played === undefined) throw new Error(`nobody plays '${server}'`);
      return played.connect(server, config, sink, traits);
    },
  };
  const store = database.open();
  const configured = Object.keys(servers).filter((name) => !unconfigured.includes(name));
  const program = await Program.start({
    kind: 'gateway',
    openStore: async () => ({ store, close: async () => store.close() }),
    backends: async () => backends,
    servers: new Map(configured.map((name) => [name, { url: `http://${name}.test/` }])),
    settings,
    log,
    clock,
    principals: Object.keys(settings.auth.tokens),
  });
  defer(async () => program.close());
  const { url } = await program.listen(HUB_VIEW, settings);
  return { url, all: `${url}/all`, clock, logs, close: async () => program.close() };
}

/** A tool that takes anything. */
export const tool = (name: string, more: Params = {}): Params => ({ name, inputSchema: { type: 'object' }, ...more });
