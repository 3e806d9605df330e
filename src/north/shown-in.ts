/** The native view of a session: one server, or a group. */

import type { Gateway } from '../core/gateway.ts';
import { requireGroup } from '../core/groups.ts';
import type { NativeView } from '../core/session/kind.ts';
import type { Session } from '../core/session/session.ts';
import { ShownGroup } from './all/shown-group.ts';
import { ShownServer, serverInfo } from './direct/shown-server.ts';
import type { Shown } from './direct/shown.ts';

/** For a request of a modern client. */
export function shownIn(gateway: Gateway, session: Session, view: NativeView): Shown | Promise<Shown> {
  if (view.kind === 'group') return groupIn(gateway, session, view.group);
  const { server } = view;
  const connection = session.connection(server);
  const known = servers.get(session);
  if (known?.isAt(server, connection)) return known;
  return serverInfo(server, connection).then((info) => {
    const shown = new ShownServer(session, server, info);
    servers.set(session, shown);
    return shown;
  });
}

/** The view that the last request used. */
const servers = new WeakMap<Session, ShownServer>();

/** For a client that initializes. */
export async function introducedIn(gateway: Gateway, session: Session, view: NativeView): Promise<Shown> {
  const shown = await shownIn(gateway, session, view);
  if (shown instanceof ShownGroup) await shown.introduced();
  return shown;
}

/** For a client that initialized before a restart. */
export function shownAgain(gateway: Gateway, session: Session, view: NativeView): Shown {
  if (view.kind === 'direct') return new ShownServer(session, view.server);
  const shown = groupIn(gateway, session, view.group);
  shown.remembered();
  return shown;
}

const groups = new WeakMap<Session, ShownGroup>();

/** Shared by all requests of a session, because it caches the lists. */
function groupIn(gateway: Gateway, session: Session, name: string): ShownGroup {
  const shown = groups.get(session) ?? new ShownGroup(gateway, session, requireGroup(name, gateway.settings));
  groups.set(session, shown);
  return shown;
}
