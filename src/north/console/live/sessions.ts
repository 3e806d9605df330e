import type { Gateway } from '../../../core/gateway.ts';
import { CONSOLE_STATE } from '../../../core/session/kind.ts';
import type { Session } from '../../../core/session/session.ts';
import { hasEnded } from '../../../core/task/task.ts';
import type { SessionItem } from '../api/schemas.ts';
import { maySee, type Person } from '../person.ts';

/** The sessions that this gateway has in memory. */
export function sessionsHere({ sessions, store }: Gateway, person: Person): SessionItem[] {
  const gateway = store.cluster?.gatewayId;
  return sessions
    .filter((session) => maySee(person, session))
    .map((session) => ({ ...sessionItem(session), ...(gateway !== undefined && { gateway }) }));
}

function sessionItem(session: Session): SessionItem {
  const { id, principal, view, owner, client, program, createdAt, lastActiveAt, tasks, interactions } = session;
  const all = tasks.list();
  const ended = all.filter(hasEnded).length;
  const isConsole = view.kind === 'hub' && owner.kind === 'state' && owner.name === CONSOLE_STATE;
  return {
    id,
    principal,
    ...(program !== undefined && { program }),
    view: isConsole ? 'console' : view.kind,
    ...(view.kind === 'direct' && { server: view.server }),
    ...(view.kind === 'group' && { group: view.group }),
    ...(client && { protocolVersion: client.protocolVersion }),
    createdAt,
    lastActiveAt,
    connected: session.isAttended,
    tasks: { running: all.length - ended, ended },
    questions: interactions.size,
    servers: session.connections.flatMap(([server, { status }]) => (status.state === 'connected' ? [server] : [])),
  };
}

/** Those of all gateways, the ones that were used last first. */
export function mergedSessions(lists: readonly SessionItem[][]): SessionItem[] {
  return lists.flat().toSorted((a, b) => b.lastActiveAt - a.lastActiveAt);
}
