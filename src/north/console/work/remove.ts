import type { Gateway } from '../../../core/gateway.ts';
import { whenStored } from '../../commit-gate.ts';
import type { Person } from '../person.ts';
import { consoleSession } from './try-tool.ts';
import type { RemoveWork } from './work.ts';

/** Removes a server that a client of the person, or the console, has added. Its running calls fail. */
export async function removeHere(gateway: Gateway, person: Person, { server }: RemoveWork): Promise<void> {
  gateway.serversFor(person).require(server);
  gateway.registry.assertMayRemove(person.principal, server);
  await gateway.servers.remove(await consoleSession(gateway, person), server);
  await whenStored([gateway.store]);
}
