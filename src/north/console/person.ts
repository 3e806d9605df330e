import type { Gateway } from '../../core/gateway.ts';
import type { Identity } from '../../core/ports.ts';

/** The person at the console, or the program that uses its API. */
export interface Person extends Identity {
  /** Sees and answers what belongs to any principal. */
  operator: boolean;
  /** May look at things, and change nothing. */
  readOnly?: boolean;
}

export function maySee({ principal, operator }: Person, item: { principal: string }): boolean {
  return operator || item.principal === principal;
}

/** What an item is about. */
interface About {
  server?: string | undefined;
  tool?: string | undefined;
}

/** Whether the access rules let a person know of a server, or of what belongs to a call of its tool. Operators look after everything. */
export function accessOf({ access, registry }: Gateway, person: Person): (about: About) => boolean {
  if (access === undefined || person.operator) return () => true;
  const grant = access.grantOf(person);
  return ({ server, tool }) =>
    server === undefined ||
    !registry.isShared(server) ||
    (tool === undefined ? grant.sees(server) : grant.mayCall(server, tool));
}
