import type { Gateway } from '../../../core/gateway.ts';
import type { SessionRecord } from '../../../core/ports/records.ts';
import type { DormantQuery } from '../../../core/ports/store.ts';
import { CONSOLE_STATE, programOf } from '../../../core/session/kind.ts';
import type { Session } from '../../../core/session/session.ts';
import { hasEnded } from '../../../core/task/task.ts';
import type { SessionItem } from '../api/schemas.ts';
import { accessOf, maySee, type Person } from '../person.ts';

/** The sessions that this gateway has in memory. */
export function sessionsHere(gateway: Gateway, person: Person): SessionItem[] {
  const id = gateway.store.cluster?.gatewayId;
  const mayKnow = accessOf(gateway, person);
  return gateway.sessions
    .filter((session) => maySee(person, session) && mayKnow(serverOf(session)))
    .map((session) => {
      const item = sessionItem(session);
      const servers = item.servers.filter((server) => mayKnow({ server }));
      return { ...item, servers, ...(id !== undefined && { gateway: id }) };
    });
}

function sessionItem(session: Session): SessionItem {
  const { tasks, interactions } = session;
  const { isAttended: connected } = session.presence;
  const all = tasks.list();
  const ended = all.filter(hasEnded).length;
  return {
    ...aboutSession(session),
    connected,
    state: connected ? 'connected' : 'away',
    tasks: { running: all.length - ended, ended },
    questions: interactions.size,
    servers: session.connections
      .all()
      .flatMap(([server, { status }]) => (status.state === 'connected' ? [server] : [])),
  };
}

/** The server of a direct session. */
function serverOf({ view }: Pick<SessionRecord, 'view'>): { server?: string } {
  return view.kind === 'direct' ? { server: view.server } : {};
}

type About = Pick<SessionRecord, 'id' | 'principal' | 'view' | 'owner' | 'createdAt' | 'lastActiveAt'>;

function aboutSession({
  id,
  principal,
  view,
  owner,
  createdAt,
  lastActiveAt,
}: About): Omit<SessionItem, 'connected' | 'state' | 'tasks' | 'questions' | 'servers'> {
  const program = programOf(owner);
  const isConsole = view.kind === 'hub' && owner.kind === 'state' && owner.name === CONSOLE_STATE;
  return {
    id,
    principal,
    ...(program !== undefined && { program }),
    view: isConsole ? 'console' : view.kind,
    ...(view.kind === 'direct' && { server: view.server }),
    ...(view.kind === 'group' && { group: view.group }),
    ...(owner.kind === 'client' && { protocolVersion: owner.client.protocolVersion }),
    createdAt,
    lastActiveAt,
  };
}

/** A page of dormant sessions, whose clients have not returned since a restart. */
export async function dormantSessions(
  gateway: Gateway,
  person: Person,
  query: Pick<DormantQuery, 'cursor' | 'limit'>,
): Promise<SessionItem[]> {
  const { principal, operator } = person;
  const found = await gateway.store.dormantSessions({ ...query, ...(!operator && { principal }) });
  return found.map(({ record, tasks, questions }) => ({
    ...aboutSession(record),
    connected: false,
    state: 'dormant',
    tasks,
    questions,
    servers: [],
  }));
}

/** The sessions of all gateways, most recently used first. */
export function mergedSessions(lists: readonly SessionItem[][]): SessionItem[] {
  return lists.flat().toSorted((a, b) => b.lastActiveAt - a.lastActiveAt);
}
