import { expect, test } from 'vitest';
import { canBeNamed } from '../../../../src/core/cluster/claims.ts';
import { httpGateway, type TestGateway } from '../../../support/gateway.ts';
import { soon } from '../../flows/watch.ts';
import {
  cancelWorks,
  questionsAreAnswered,
  resultsAreRight,
  SETTINGS,
  slowIsFine,
  twoQuestionsAreAnswered,
  type Asking,
} from './checks.ts';
import type { MatrixClient } from './client.ts';
import { deskAt } from './desk.ts';
import { pairsOver } from './pairs.ts';
import { startServer } from './servers.ts';

test.each(pairsOver('http'))('D-6, D-7: a client ($who) calls a server that $what (HTTP, $player)', async (pair) => {
  const { client: kind, server: serverKind, open, via } = pair;
  const server = await startServer(serverKind, 'http');
  const running = await httpGateway({ one: server.config }, SETTINGS);
  const direct = { url: `${running.url}/one` };
  const desk = await deskAt(running.url);
  if (kind === 'tools') desk.answer();
  const [one, other] = await Promise.all([open(direct), open(direct)]);

  const asking = (client: MatrixClient, ...names: string[]): Asking => {
    const answerer = kind === 'tools' ? desk : client;
    return { client, names, answerer, via };
  };
  const ada = asking(one, 'Ada', 'Ben');
  const dan = asking(other, 'Dan', 'Eve');
  const [slow] = await Promise.all([
    slowIsFine(one, server, serverKind),
    resultsAreRight(one, server, serverKind),
    // Without a session and without tasks a client has no word for it, and leaving is none: its call is at the hub.
    cancelWorks(other, server, kind === 'rounds' ? () => desk.cancel('slow') : undefined),
    ...(via.length > 0 ? [questionsAreAnswered(ada), questionsAreAnswered(dan), twoQuestionsAreAnswered(ada)] : []),
  ]);
  expect(slow.asTask).toBe(kind === 'tasks' || kind === 'extension');
  // Six questions for one and four for the other, and nobody else was asked.
  const asked = [one, other, desk].map((each) => each.asked.length);
  const expected = kind === 'tools' ? [0, 0, 10] : [6, 4, 0];
  expect(asked).toEqual(via.length > 0 ? expected : [0, 0, 0]);

  await soon(server.unfinished).toBe(0);
  await desk.isClear();
  await nothingIsOpen(running);
  await Promise.all([one.close(), other.close()]);
  await soon(() => running.gateway.sessions.filter(({ id }) => canBeNamed(id)).length).toBe(0);
  await soon(() => running.listener.counts).toEqual({ sessions: 0, streams: 0, requests: 0 });
});

async function nothingIsOpen({ gateway }: TestGateway): Promise<void> {
  await soon(() =>
    gateway.sessions.flatMap(({ interactions, calls, tasks }) => [
      interactions.size,
      calls.size,
      tasks.atWork().length,
    ]),
  ).toSatisfy((open: number[]) => open.length > 0 && open.every((count) => count === 0));
}
