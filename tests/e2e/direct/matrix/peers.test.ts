/** Each player with a server of its own kind and nothing between them: what fails here is no fault of the gateway. */
import { expect, test } from 'vitest';
import { isAlive } from '../../../support/alive.ts';
import { CLIENTS, keysOf, type ClientKind, type ServerKind, type Via } from './cells.ts';
import { cancelWorks, questionsAreAnswered, resultsAreRight, slowIsFine, twoQuestionsAreAnswered } from './checks.ts';
import { driversOf, type Door } from './drivers.ts';
import { startServer } from './servers.ts';
import { soon } from '../../flows/watch.ts';

/** The server that speaks as a client of that kind does, and how it asks. */
const OWN_KIND: Record<ClientKind, { server: ServerKind; via: readonly Via[] }> = {
  tools: { server: 'plain', via: [] },
  asked: { server: 'pushes', via: ['request'] },
  tasks: { server: 'tasks', via: ['task request'] },
  rounds: { server: 'rounds', via: ['round'] },
  extension: { server: 'extension', via: ['task'] },
};

const PAIRS = keysOf(CLIENTS).flatMap((client) =>
  (['http', 'stdio'] as const).flatMap((door: Door) =>
    driversOf(client, door).map((driver) => ({ kind: CLIENTS[client], door, ...driver, ...OWN_KIND[client] })),
  ),
);

test.each(PAIRS)(
  '$kind: this client works without a gateway in every check of the matrix ($player, $door)',
  async (pair) => {
    const { server: kind, door, open, via } = pair;
    const server = await startServer(kind, door);
    const client = await open(server.config);
    const asking = { client, names: ['Ada', 'Ben'], answerer: client, via };
    await Promise.all([
      resultsAreRight(client, server, kind),
      slowIsFine(client, server, kind),
      cancelWorks(client, server),
      ...(via.length > 0 ? [questionsAreAnswered(asking), twoQuestionsAreAnswered(asking)] : []),
    ]);
    expect(client.asked).toHaveLength(via.length > 0 ? 6 : 0);
    await soon(server.unfinished).toBe(0);
    const pid = client.pid();
    expect(pid !== undefined).toBe(door === 'stdio');
    await client.close();
    if (pid !== undefined) await soon(() => isAlive(pid)).toBe(false);
  },
);
