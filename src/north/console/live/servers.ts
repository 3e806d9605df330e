/** Servers as seen by the sessions of one gateway, and merged over several gateways. */

import type { Gateway } from '../../../core/gateway.ts';
import { CONSOLE_STATE } from '../../../core/session/kind.ts';
import type { ConnectionStatus } from '../../../core/ports/connection.ts';
import type { KnownServer } from '../../../core/session/registry.ts';
import type { Session } from '../../../core/session/session.ts';
import { eraName } from '../../../lib/protocol.ts';
import type { ListItem } from '../../../lib/pages.ts';
import { redactCommand, redactUrl } from '../../../lib/redact.ts';
import { fixFor } from '../../../lib/server-fix.ts';
import { serverKey } from '../../../lib/server-key.ts';
import { messageOf } from '../../../lib/log.ts';
import { notFound } from '../api-error.ts';
import type { LogLine, Server, ServerDetails } from '../api/schemas.ts';
import { accessOf, maySee, type Person } from '../person.ts';

const LOG_LINES = 200;

/** The best state first. */
const STATES = ['connected', 'connecting', 'waiting', 'failed', 'idle'] as const;

/** A server, and its owner if a client of another principal added it. */
type Shown = KnownServer & { principal?: string };

export function serversHere(gateway: Gateway, person: Person): Server[] {
  return shownTo(gateway, person).map((server) => serverItem(server, sessionsAt(gateway, person, server)));
}

/** Without `principal`, the person's own server of that name. */
export async function serverDetailsHere(
  gateway: Gateway,
  person: Person,
  { server: name, principal }: { server: string; principal?: string | undefined },
): Promise<ServerDetails> {
  const server = shownTo(gateway, person).find(
    (each) => each.name === name && (principal === undefined || (each.principal ?? person.principal) === principal),
  );
  if (server === undefined) throw noServer(gateway, person, name);
  const sessions = sessionsAt(gateway, person, server);
  const mayKnow = accessOf(gateway, person);
  const listed = await toolsIn(gateway, person, server, sessions);
  const tools = listed?.filter((tool) => mayKnow({ server: name, tool: String(tool['name']) }));
  return {
    ...serverItem(server, sessions),
    ...(tools && { tools: tools as ServerDetails['tools'] }),
    log: logOf(name, sessions),
  };
}

export function noServer(gateway: Gateway, person: Person, name: string): Error {
  const names = [...new Set(shownTo(gateway, person).map((server) => server.name))];
  return notFound(`no server '${name}'; ${names.length === 0 ? 'there are none' : `known: ${names.join(', ')}`}`);
}

/** Merges the servers of all gateways; the first list is from this gateway. */
export function mergedServers(lists: readonly Server[][]): Server[] {
  const byKey = new Map<string, Server>();
  for (const item of lists.flat()) {
    const key = serverKey(item);
    const known = byKey.get(key);
    byKey.set(key, known === undefined ? item : merged(known, item));
  }
  return [...byKey.values()];
}

export function mergedDetails([first, ...others]: readonly ServerDetails[]): ServerDetails | undefined {
  if (first === undefined) return undefined;
  const same = others.filter((item) => serverKey(item) === serverKey(first));
  return same.reduce<ServerDetails>((known, item) => {
    const tools = known.tools ?? item.tools;
    const log = [...known.log, ...item.log].toSorted((a, b) => a.time - b.time).slice(-LOG_LINES);
    return { ...merged(known, item), ...(tools && { tools }), log };
  }, first);
}

function merged(one: Server, other: Server): Server {
  const isBetter = STATES.indexOf(other.state) < STATES.indexOf(one.state);
  const [best, rest] = isBetter ? [other, one] : [one, other];
  return { ...rest, ...best, sessions: one.sessions + other.sessions };
}

/** The servers of the person; operators also see those that clients of others added. */
function shownTo(gateway: Gateway, person: Person): Shown[] {
  const { registry } = gateway;
  const { principal, operator } = person;
  return operator
    ? [...registry.of(principal).list(), ...registry.addedByOthers(principal)]
    : gateway.serversFor(person).list();
}

/** The names under which the person sees servers of several principals. */
export function sharedNames(gateway: Gateway, person: Person): Set<string> {
  const seen = new Set<string>();
  const names = shownTo(gateway, person).map(({ name }) => name);
  return new Set(names.filter((name) => seen.size === seen.add(name).size));
}

/** The sessions that are connected to it, or have tried. */
function sessionsAt({ sessions }: Gateway, person: Person, server: Shown): Session[] {
  return sessions.filter(
    (session) =>
      maySee(person, session) &&
      session.servers.get(server.name)?.config === server.config &&
      session.connections.find(server.name) !== undefined,
  );
}

function serverItem(server: Shown, sessions: readonly Session[]): Server {
  const { name, config, addedBy, principal } = server;
  const statuses = sessions.flatMap((session) => session.connections.find(name)?.status ?? []);
  const state = STATES.find((each) => statuses.some((status) => status.state === each)) ?? 'idle';
  return {
    name,
    addedBy,
    ...(principal !== undefined && { principal }),
    transport: 'url' in config ? 'http' : 'stdio',
    address: 'url' in config ? redactUrl(config.url) : redactCommand(config.command, config.args),
    state,
    sessions: statuses.filter((status) => status.state === 'connected').length,
    ...aboutServer(statuses),
    ...aboutFailure(statuses, server),
  };
}

function aboutServer(statuses: readonly ConnectionStatus[]): Partial<Server> {
  const connected = statuses.find((status) => status.state === 'connected');
  if (connected === undefined) return {};
  const { protocolVersion, traits, tasks, implementation, capabilities, instructions } = connected.info;
  return {
    protocolVersion,
    era: eraName(traits),
    tasks: tasks?.generation ?? 'none',
    capabilities,
    ...(implementation && { implementation }),
    ...(instructions !== undefined && { instructions }),
  };
}

function aboutFailure(statuses: readonly ConnectionStatus[], { config }: Shown): Partial<Server> {
  const failed = statuses.find((status) => status.state === 'waiting' || status.state === 'failed');
  if (failed === undefined) return {};
  const fix = fixFor(failed.failure, config, 'configuration');
  return {
    error: failed.error,
    ...(fix !== undefined && { fix }),
    ...(failed.failure === 'sign_in' && { needsSignIn: true as const }),
    ...(failed.state === 'waiting' && { retryAt: failed.retryAt }),
  };
}

/** The tools read by the person's console session, or cached by another session. */
async function toolsIn(
  { log }: Gateway,
  { principal }: Person,
  { name }: Shown,
  sessions: readonly Session[],
): Promise<ListItem[] | undefined> {
  const own = sessions.find(
    (session) =>
      session.principal === principal && session.owner.kind === 'state' && session.owner.name === CONSOLE_STATE,
  );
  if (own?.connections.find(name)?.status.state === 'connected') {
    try {
      return await own.catalog(name).list('tools');
    } catch (error) {
      log.warn('tools_not_listed', { server: name, error: messageOf(error) });
    }
  }
  return sessions.map((session) => session.catalog(name).kept('tools')).find((tools) => tools !== undefined);
}

function logOf(server: string, sessions: readonly Session[]): LogLine[] {
  const lines = sessions.flatMap((session) =>
    session.connections.logs(server).map(({ timestamp, level, source, logger, data, truncated }) => ({
      time: timestamp,
      level,
      source,
      ...(logger !== undefined && { logger }),
      data,
      ...(truncated && { truncated }),
      sessionId: session.id,
    })),
  );
  return lines.toSorted((a, b) => a.time - b.time).slice(-LOG_LINES);
}
