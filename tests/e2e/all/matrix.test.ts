import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { NOBODY } from '../direct/matrix/answers.ts';
import { keysOf, SERVERS, type Cell } from '../direct/matrix/cells.ts';
import {
  cancelWorks,
  questionsAreAnswered,
  resultsAreRight,
  SETTINGS,
  slowIsFine,
  twoQuestionsAreAnswered,
} from '../direct/matrix/checks.ts';
import type { MatrixClient } from '../direct/matrix/client.ts';
import { deskAt } from '../direct/matrix/desk.ts';
import { pairsOver } from '../direct/matrix/pairs.ts';
import { startServer, type MatrixServer } from '../direct/matrix/servers.ts';
import { soon } from '../flows/watch.ts';

/** One cell of each player; the others are those of the same client with the other servers. */
const PLAYERS = pairsOver('http').filter(({ server }) => server === 'plain');

const isAsking = ({ via }: Cell): boolean => via.length > 0;

test.each(PLAYERS)(
  'M-1, D-6: a client ($who) works with all five kinds of server at once ($player)',
  async ({ client, player, open }) => {
    const cells = pairsOver('http').filter((each) => each.client === client && each.player === player);
    const kinds = keysOf(SERVERS);
    const started = await Promise.all(kinds.map(async (kind) => [kind, await startServer(kind, 'http')] as const));
    const servers = Object.fromEntries(started) as Record<(typeof kinds)[number], MatrixServer>;
    const configs = Object.fromEntries(started.map(([kind, { config }]) => [kind, config]));
    // What clients without any means of their own get beside is not part of the matrix.
    const running = await httpGateway(configs, { ...SETTINGS, all: { helperTools: 'never' } });
    const desk = await deskAt(running.url);
    if (client === 'tools') desk.answer();
    const all = await open({ url: `${running.url}/all` });
    const answerer = client === 'tools' ? desk : all;

    const slow = await Promise.all(
      cells.map(async (cell) => {
        const { server: kind, via } = cell;
        const one = at(kind, all);
        // The questions of all servers come to the same client, so they must be about different people.
        const asking = { client: one, names: [`Ada${kind}`, `Ben${kind}`], answerer, via, askedAgain: false };
        const [called] = await Promise.all([
          slowIsFine(one, servers[kind], kind),
          resultsAreRight(one, servers[kind], kind),
          ...(isAsking(cell)
            ? [questionsAreAnswered(asking), twoQuestionsAreAnswered({ ...asking, askedAgain: true })]
            : []),
        ]);
        return called.asTask;
      }),
    );
    expect(new Set(slow)).toEqual(new Set([client === 'tasks' || client === 'extension']));
    const asking = cells.filter(isAsking).length;
    expect(answerer.asked.filter(({ name }) => name === NOBODY)).toHaveLength(2 * asking);
    expect([all, desk].map(({ asked }) => asked.length)).toEqual(
      client === 'tools' ? [0, 6 * asking] : [6 * asking, 0],
    );

    for (const kind of kinds) {
      // Without a session and without tasks a client has no word for it, and leaving is none: its call is at the hub.
      await cancelWorks(at(kind, all), servers[kind], client === 'rounds' ? () => desk.cancel('slow') : undefined);
      await soon(servers[kind].unfinished).toBe(0);
    }
    await desk.isClear();
    await all.close();
  },
);

/** The client, as it calls the tools of one server. */
function at(server: string, client: MatrixClient): MatrixClient {
  return {
    asked: client.asked,
    call: (tool, args, options) => client.call(`${server}__${tool}`, args, options),
    pid: () => client.pid(),
    close: async () => client.close(),
  };
}
