import type { Call, Server } from '../../lib/api-items.ts';
import { serverKey } from '../../lib/server-key.ts';

/** The key of a server in links: with its principal if a client of another principal added it. */
export type ServerName = Pick<Server, 'name' | 'principal'>;

export function byName(a: ServerName, b: ServerName): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return (a.principal ?? '') < (b.principal ?? '') ? -1 : 1;
}

interface Servers {
  get: (key: string) => Server | undefined;
  all: () => Server[];
}

/** The server that a link names; without a principal, the person's own one comes first. */
export function findServerByName(servers: Servers, name: string, principal: string | undefined): Server | undefined {
  const own = servers.get(serverKey({ name, ...(principal !== undefined && { principal }) }));
  return own ?? (principal === undefined ? servers.all().find((server) => server.name === name) : undefined);
}

/** The server of a call. */
export function serverOf(
  servers: Servers,
  { server: name, principal }: Pick<Call, 'server' | 'principal'>,
): ServerName {
  return servers.get(serverKey({ name, principal })) === undefined ? { name } : { name, principal };
}
