import type { ServerInfo } from '../../core/ports/connection.ts';
import { serverFilter } from '../../core/groups.ts';
import type { GroupSettings } from '../../core/settings.ts';
import type { Gateway } from '../../core/gateway.ts';
import { LISTS, type ListName } from '../../core/session/catalog.ts';
import type { Session } from '../../core/session/session.ts';
import { closest } from '../../lib/closest.ts';
import { isLevel } from '../../lib/levels.ts';
import type { ListItem } from '../../lib/pages.ts';
import { selection, type Selection } from '../../lib/pattern.ts';
import { TASKS_EXTENSION } from '../../lib/protocol.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError } from '../../lib/rpc-error.ts';
import { within } from '../../lib/timers.ts';
import { isObject, quotable } from '../../lib/values.ts';
import { setLogLevel } from '../direct/log-level.ts';
import { asOfItsVersion, CORE_TASKS, serverInfo } from '../direct/shown-server.ts';
import type { ServerNotification, Shown, RoutedRequest, RoutedRequests } from '../direct/shown.ts';
import { HUB_INFO } from '../hub-endpoint.ts';
import { TASKS_EXPLAINED } from '../hub/about.ts';
import { keep } from '../kept-results.ts';
import type { Params } from '../message.ts';
import { GroupLists, type GroupEntry, type MergedList } from './lists.ts';
import { shownName, splitName, type Naming } from './names.ts';
import { pageOf } from './page.ts';
import { reportOnce } from './reports.ts';
import { withServerInUi } from './ui-resources.ts';
import { withLinks } from './links.ts';
import { alwaysNamesServer, splitUri, namingServer } from './uris.ts';

/** All capabilities that a server may have, independent of the current servers. */
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

const LIST_METHODS = new Map((Object.keys(LISTS) as ListName[]).map((name) => [LISTS[name].method as string, name]));

/**
 * How long `server/discover` waits for the instructions of the servers. Clients use it to learn the protocol version, and soon
 * fall back to `initialize`, which costs them their tasks: Claude Code after 5 s, on stdio after 3 s with the start of the program.
 */
const DISCOVER_WAIT_MS = 1000;

/** Several servers as if they were one. */
export class ShownGroup implements Shown {
  readonly implementation = HUB_INFO;
  readonly #session: Session;
  readonly #naming: Naming;
  readonly #isMember: (server: string) => boolean;
  readonly #selection: Selection;
  /** All tools seen so far, including hidden ones. */
  readonly #tools = new Set<string>();
  readonly #report: (event: string, about: Record<string, string>) => void;
  readonly #lists: GroupLists;
  readonly #firstPages = new WeakMap<MergedList, Params>();
  /** The client's subscriptions, by the URI that it used. */
  readonly #subscribed = new Map<string, Pick<GroupEntry, 'server' | 'id'>>();
  /** The client's log level, and the servers that do not know it yet. */
  #level: string | undefined;
  readonly #untold = new Set<string>();
  #introduced: Promise<unknown> | undefined;
  #isChecked = false;

  constructor(gateway: Gateway, session: Session, { prefix, ...patterns }: GroupSettings) {
    const { all } = gateway.settings;
    this.#session = session;
    this.#naming = { prefix, maxLength: all.maxNameLength };
    this.#isMember = serverFilter(patterns);
    this.#selection = selection(patterns);
    const show = {
      tools: (server: string, item: ListItem) => {
        const name = String(item['name']);
        if (!this.#isChecked) this.#tools.add(qualified(server, name));
        if (!this.#selection.selects(qualified(server, name)) || !session.mayCall(server, name)) return undefined;
        return withServerInUi(server, { ...item, name: this.toolName(server, name) });
      },
      prompts: (server: string, item: ListItem) => ({ ...item, name: this.toolName(server, String(item['name'])) }),
      resources: showResource('uri'),
      templates: showResource('uriTemplate'),
    };
    this.#report = (event, about) => reportOnce(gateway, event, about);
    this.#lists = new GroupLists({ session, report: this.#report, show, limits: all });
    session.connections.onArrived.add((server) => this.#tellLevel(server));
  }

  /** The client initialized before a restart: restores the URIs it uses for its subscriptions. */
  remembered(): void {
    const [level] = this.#session.shown.flatMap((server) => this.#session.preferences.logLevel(server) ?? []);
    this.#level = level;
    if (this.#session.preferences.isSubscribed) void this.#lists.list('resources');
  }

  readonly label = 'one of the servers';

  /** Waits until the servers are initialized, as long as clients wait for a list. */
  async introduced(): Promise<void> {
    this.#introduced ??= Promise.all(this.#session.shown.map(async (server) => this.#wait(server)));
    await this.#introduced;
  }

  async #wait(server: string): Promise<void> {
    // The lists report the problem.
    const ready = this.#session
      .connection(server)
      .ready()
      .catch(() => {});
    const patience = this.#lists.patience(server);
    if (patience > 0) await within<unknown>(patience, ready, this.#session.clock);
  }

  initializeResult(protocolVersion: string): Params {
    return asOfItsVersion({
      protocolVersion,
      capabilities: { ...CAPABILITIES, tasks: CORE_TASKS },
      serverInfo: HUB_INFO,
      ...this.#instructions(),
    });
  }

  async discoverResult(): Promise<Params> {
    await within(DISCOVER_WAIT_MS, this.introduced(), this.#session.clock);
    const extensions = { [TASKS_EXTENSION]: {} };
    return { capabilities: { ...CAPABILITIES, extensions }, ...this.#instructions() };
  }

  tellsChanges(): boolean {
    return true;
  }

  infoOf(server: string): Promise<ServerInfo> {
    return serverInfo(server, this.#session.connection(server));
  }

  toolName(server: string, tool: string): string {
    return shownName(server, tool, this.#naming);
  }

  /** Progress from the client concerns the question of one server, and other servers use the same tokens. */
  notificationTargets(method: string): string[] {
    return method === 'notifications/progress' ? [] : this.#session.shown;
  }

  fromServer(server: string, method: string, params: Params | undefined): readonly ServerNotification[] {
    switch (method) {
      case 'notifications/message': {
        const logger = params?.['logger'];
        return [{ method, params: { ...params, logger: typeof logger === 'string' ? `${server}/${logger}` : server } }];
      }
      case 'notifications/resources/updated': {
        const uris = this.#subscribedUris(server, quotable(params?.['uri']));
        return uris.map((uri) => ({ method, params: { ...params, uri } }));
      }
      default:
        return [{ method, params }];
    }
  }

  /** Resource links must lead back to their server. */
  resultFrom(server: string, result: Params): Params {
    return withLinks(result, 'content', (uri) => this.#shownUri(server, uri));
  }

  answer(method: string, params: Params): Promise<Params | undefined> | undefined {
    const list = LIST_METHODS.get(method);
    if (list !== undefined) return this.#list(list, params);
    switch (method) {
      case 'logging/setLevel':
        return this.#setLevel(params);
      case 'completion/complete':
        return this.#noCompletion(params);
      default:
        return undefined;
    }
  }

  subscribed(server: string, uri: string, given: string): void {
    this.#subscribed.set(given, { server, id: uri });
  }

  unsubscribed(server: string, uri: string, given: string): boolean {
    this.#subscribed.delete(given);
    return ![...this.#subscribed.values()].some((each) => each.server === server && each.id === uri);
  }

  /** The URIs under which the client subscribed to a resource, possibly before a restart. */
  #subscribedUris(server: string, uri: string): string[] {
    const given = [...this.#subscribed].filter(([, each]) => each.server === server && each.id === uri);
    return given.length === 0 ? [this.#shownUri(server, uri)] : given.map(([address]) => address);
  }

  async route(method: string, params: Params): Promise<RoutedRequests> {
    switch (method) {
      case 'tools/call':
        return this.#named('tools', params);
      case 'prompts/get':
        return this.#named('prompts', params);
      case 'resources/read':
      case 'resources/subscribe':
        return this.#resource(params, async (uri) => this.#serversOf(uri));
      case 'resources/unsubscribe':
        return this.#resource(params, async (uri) => this.#subscriptionOf(uri));
      case 'completion/complete':
        return this.#completion(params);
      default:
        throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    }
  }

  async #list(name: ListName, { cursor }: Params): Promise<Params> {
    const list = await this.list(name);
    // Most lists have one page, which is requested repeatedly.
    const known = cursor === undefined ? this.#firstPages.get(list) : undefined;
    if (known !== undefined) return known;
    const { missing } = list;
    const { page, nextCursor } = pageOf(list.entries, cursor);
    const result: Params = {
      [LISTS[name].key]: page.map(({ shown }) => shown),
      ...(nextCursor !== undefined && { nextCursor }),
      ...(Object.keys(missing).length > 0 && { _meta: { 'meanwhile/missing': missing } }),
    };
    if (cursor === undefined) this.#firstPages.set(list, keep(result));
    return result;
  }

  async list(name: ListName): Promise<MergedList> {
    const list = await this.#lists.list(name);
    const isComplete = Object.keys(list.missing).length === 0;
    if (name === 'tools' && isComplete && !this.#isChecked) this.#checkPatterns();
    return list;
  }

  /** Reports patterns that match no tool, which are probably misspelt. */
  #checkPatterns(): void {
    this.#isChecked = true;
    const { view } = this.#session;
    const group = view.kind === 'group' ? view.group : '';
    for (const pattern of this.#selection.unmatched([...this.#tools]))
      this.#report('group_pattern_unmatched', { group, pattern });
    this.#tools.clear();
  }

  /** Servers that are not connected yet get the level when they are. */
  async #setLevel({ level }: Params): Promise<Params> {
    if (!isLevel(level)) throw new RpcError(INVALID_PARAMS, `unknown log level '${quotable(level)}'`);
    const session = this.#session;
    this.#level = level;
    for (const server of session.shown) {
      session.preferences.setLogLevel(server, level);
      // Later connections start with this level.
      if (session.connections.find(server) !== undefined) this.#untold.add(server);
      this.#tellLevel(server);
    }
    return {};
  }

  /** Sends the client's log level to a server that has connected or was added. */
  #tellLevel(server: string): void {
    const session = this.#session;
    const connection = session.connections.find(server);
    const level = this.#level;
    if (level === undefined || connection?.status.state !== 'connected') return;
    const isNew = session.preferences.logLevel(server) === undefined;
    if (isNew) session.preferences.setLogLevel(server, level);
    if (!this.#untold.delete(server) && !isNew) return;
    const { capabilities, traits } = connection.status.info;
    if (capabilities['logging'] === undefined || traits.declaredPerRequest) return;
    // A server that rejects the level does not affect the others.
    setLogLevel(connection, level).catch(() => {});
  }

  async #named(list: 'tools' | 'prompts', params: Params): Promise<RoutedRequests> {
    const { name } = params;
    if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, "Invalid params: 'name' must be a string");
    const { server, id } = await this.#entry(list, name);
    const target = { server, params: { ...params, name: id } };
    // Tool results are translated where they are delivered.
    if (list === 'tools') return [target];
    return [{ ...target, translate: (result) => withLinks(result, 'messages', (uri) => this.#shownUri(server, uri)) }];
  }

  /** Resolves a shown name to the server and its own name. */
  async #entry(list: 'tools' | 'prompts', name: string): Promise<Pick<GroupEntry, 'server' | 'id'>> {
    const known = this.#lists.known(list)?.byId.get(name);
    if (known !== undefined && this.#isShown(known.server)) return known;
    const parts = splitName(name, this.#naming);
    // If the name contains server and tool, let the server decide whether the tool exists.
    if (parts !== undefined && this.#isShown(parts.server) && this.#isSelected(list, parts)) {
      return { server: parts.server, id: parts.name };
    }
    const listed = await this.#lists.list(list);
    const entry = listed.byId.get(name);
    if (entry !== undefined) return entry;
    throw new RpcError(INVALID_PARAMS, unknownName(list, name, listed));
  }

  #isSelected(list: 'tools' | 'prompts', { server, name }: { server: string; name: string }): boolean {
    return list === 'prompts' || this.#selection.selects(qualified(server, name));
  }

  /** Whether the group has this server; a name from a client may contain any server. */
  #isShown(server: string): boolean {
    return this.#isMember(server) && this.#session.servers.get(server) !== undefined;
  }

  async #resource(
    params: Params,
    find: (uri: string) => Promise<Pick<GroupEntry, 'server' | 'id'>[]>,
  ): Promise<RoutedRequests> {
    const { uri } = params;
    if (typeof uri !== 'string') throw new RpcError(INVALID_PARAMS, "Invalid params: 'uri' must be a string");
    const found = await find(uri);
    const targets = found.map(({ server, id }): RoutedRequest => ({
      server,
      params: { ...params, uri: id },
      translate: (result) => withShownUri(result, id, uri),
    }));
    const [first, ...others] = targets;
    if (first !== undefined) return [first, ...others];
    throw new RpcError(RESOURCE_NOT_FOUND, `no server has the resource '${uri}'`, { uri });
  }

  /** The server of a subscription; subscriptions from before a restart are looked up. */
  async #subscriptionOf(uri: string): Promise<Pick<GroupEntry, 'server' | 'id'>[]> {
    const known = this.#subscribed.get(uri);
    if (known !== undefined) return [known];
    const found = await this.#serversOf(uri);
    const subscribed = found.filter(({ server, id }) => this.#session.preferences.isSubscribedTo(server, id));
    return subscribed.length > 0 ? subscribed : found;
  }

  /** The server of a resource; all possible servers if it is in no list. */
  async #serversOf(uri: string): Promise<Pick<GroupEntry, 'server' | 'id'>[]> {
    const named = splitUri(uri);
    if (named !== undefined && this.#isShown(named.server)) return [{ server: named.server, id: named.uri }];
    const resources = this.#lists.known('resources') ?? (await this.#lists.list('resources'));
    const listed = resources.byId.get(uri);
    if (listed !== undefined && this.#isShown(listed.server)) return [listed];
    const templates = this.#lists.known('templates') ?? (await this.#lists.list('templates'));
    const fitting = templates.entries.filter(({ id }) => fits(id, uri)).map(({ server }) => server);
    return [...new Set([...fitting, ...this.#withResources()])].map((server) => ({ server, id: uri }));
  }

  #withResources(): string[] {
    return this.#session.shown.filter((server) => {
      const { status } = this.#session.connections.find(server) ?? {};
      return status?.state === 'connected' && status.info.capabilities['resources'] !== undefined;
    });
  }

  async #completion(params: Params): Promise<RoutedRequests> {
    const ref = isObject(params['ref']) ? params['ref'] : {};
    const { name, uri } = ref;
    if (typeof name === 'string') {
      const { server, id } = await this.#entry('prompts', name);
      return [{ server, params: { ...params, ref: { ...ref, name: id } } }];
    }
    if (typeof uri !== 'string') {
      throw new RpcError(
        INVALID_PARAMS,
        "Invalid params: 'ref' must have the name of a prompt or the uri of a resource",
      );
    }
    const template = (this.#lists.known('templates') ?? (await this.#lists.list('templates'))).byId.get(uri);
    const [found] = template === undefined ? await this.#serversOf(uri) : [template];
    if (found === undefined) throw new RpcError(RESOURCE_NOT_FOUND, `no server has the resource '${uri}'`, { uri });
    return [{ server: found.server, params: { ...params, ref: { ...ref, uri: found.id } } }];
  }

  /** Servers without completion suggest nothing. */
  async #noCompletion(params: Params): Promise<Params | undefined> {
    const [{ server }] = await this.#completion(params);
    const { capabilities } = await this.infoOf(server);
    return capabilities['completions'] === undefined ? { completion: { values: [] } } : undefined;
  }

  /** The address under which a server's resource is shown. */
  #shownUri(server: string, uri: string): string {
    if (alwaysNamesServer(uri)) return namingServer(server, uri);
    const listed = this.#lists.known('resources')?.byId.get(uri);
    return listed === undefined || listed.server === server ? uri : namingServer(server, uri);
  }

  /** One section per server that has instructions. */
  #instructions(): { instructions: string } {
    const sections = this.#session.shown.flatMap((server) => {
      const { status } = this.#session.connections.find(server) ?? {};
      const text = status?.state === 'connected' ? status.info.instructions?.trim() : undefined;
      return text === undefined || text === '' ? [] : [`## ${server}\n\n${text}`];
    });
    const explained = this.#naming.prefix ? NAMES_EXPLAINED : SEVERAL;
    const about = this.#session.hasHubTools ? `${explained} ${TASKS_EXPLAINED}` : explained;
    return { instructions: [about, ...sections].join('\n\n') };
  }
}

const NAMES_EXPLAINED = 'Several MCP servers as one. Tools and prompts are named <server>__<name>.';
const SEVERAL = 'Several MCP servers as one.';

/** Resources keep their URIs, unless an earlier server has the same one or the URI must name its server. */
function showResource(key: 'uri' | 'uriTemplate') {
  return (server: string, item: ListItem, taken: ReadonlyMap<string, GroupEntry>): ListItem => {
    const own = String(item[key]);
    return alwaysNamesServer(own) || taken.has(own) ? { ...item, [key]: namingServer(server, own) } : item;
  };
}

/** The contents of a resource under the address that the client asked for. */
function withShownUri(result: Params, own: string, shown: string): Params {
  const { contents } = result;
  if (own === shown || !Array.isArray(contents)) return result;
  const renamed = contents.map((each: unknown) =>
    isObject(each) && each['uri'] === own ? { ...each, uri: shown } : each,
  );
  return { ...result, contents: renamed };
}

/** Whether a URI may match a template: it starts with the same text. Only the server knows for certain. */
function fits(template: string, uri: string): boolean {
  const end = template.indexOf('{');
  return uri.startsWith(end < 0 ? template : template.slice(0, end));
}

/** The form of names that group patterns match, independent of how names are shown. */
function qualified(server: string, tool: string): string {
  return `${server}__${tool}`;
}

function unknownName(list: 'tools' | 'prompts', name: string, { byId, missing }: MergedList): string {
  const what = list === 'tools' ? 'tool' : 'prompt';
  const near = closest(name, [...byId.keys()]);
  const meant = near === undefined ? `${LISTS[list].method} lists all ${list}` : `did you mean '${near}'?`;
  const away = Object.keys(missing);
  const without = away.length === 0 ? '' : `; not available now: ${away.join(', ')}`;
  return `Unknown ${what}: '${name}'; ${meant}${without}`;
}
