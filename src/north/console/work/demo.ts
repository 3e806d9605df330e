/** The demo: a built-in server with one call that reports progress and one that asks a question. */

import type { Gateway } from '../../../core/gateway.ts';
import type { ServerConfig } from '../../../core/ports/server-config.ts';
import { withinLimits } from '../../carrier.ts';
import { whenStored } from '../../commit-gate.ts';
import { ApiError } from '../api-error.ts';
import type { Person } from '../person.ts';
import { consoleSession, tryHere } from './try-tool.ts';
import type { DemoWork } from './work.ts';

/** The second name is used if the person has another server with the first. */
const NAMES = ['demo', 'meanwhile-demo'];

const REPORT = { tool: 'slow_report', arguments: { topic: 'lemonade', seconds: 30 } };
const BOOKING = { tool: 'book_table', arguments: { restaurant: "Luigi's", people: 2, time: 'tonight 19:30' } };

/** Returns the id of the call that asks. */
export async function demoHere(gateway: Gateway, person: Person, { config }: DemoWork): Promise<{ callId: string }> {
  const known = gateway.serversFor(person);
  const server = NAMES.find((name) => isDemo(known.get(name)?.config ?? config, config));
  if (server === undefined) {
    const message = `the names ${NAMES.join(' and ')} belong to other servers; remove one of them to run the demo`;
    throw new ApiError(409, 'name_taken', message);
  }
  if (known.get(server)?.addedBy !== 'config file') {
    const session = await consoleSession(gateway, person);
    await withinLimits(session, undefined, async () => gateway.servers.add(session, server, config));
    await whenStored([gateway.store]);
  }
  await tryHere(gateway, person, { do: 'try', server, ...REPORT });
  return tryHere(gateway, person, { do: 'try', server, ...BOOKING });
}

/** Also recognizes a demo server added by another version of the program. */
function isDemo(known: ServerConfig, demo: ServerConfig): boolean {
  return 'command' in known && 'command' in demo && known.args?.at(-1) === demo.args?.at(-1);
}
