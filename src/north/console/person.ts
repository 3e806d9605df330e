import type { Gateway } from '../../core/gateway.ts';
import type { Identity } from '../../core/ports/identity.ts';

/** The person at the console, or the program that uses its API. */
export interface Person extends Identity {
  /** Sees and answers the questions and calls of all principals. */
  operator: boolean;
  /** Has read-only access. */
  readOnly?: boolean;
}

export function maySee({ principal, operator }: Person, item: { principal: string }): boolean {
  return operator || item.principal === principal;
}

/** The server and tool of an item. */
interface About {
  server?: string | undefined;
  tool?: string | undefined;
}

/** Whether the access rules let a person see a server, or the calls of its tool. Operators see everything. */
export function accessOf({ access, registry }: Gateway, person: Person): (about: About) => boolean {
  if (access === undefined || person.operator) return () => true;
  const grant = access.grantOf(person);
  return ({ server, tool }) =>
    server === undefined ||
    !registry.isShared(server) ||
    (tool === undefined ? grant.sees(server) : grant.mayCall(server, tool));
}
