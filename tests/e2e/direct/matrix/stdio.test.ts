import { expect, test } from 'vitest';
import { isAlive } from '../../../support/alive.ts';
import { configFile } from '../../../support/gateway.ts';
import { QUICK_PROGRAM } from '../../../support/servers.ts';
import type { ServerConfig } from '../../../../src/core/ports/server-config.ts';
import { soon } from '../../flows/watch.ts';
import { whoIs } from './answers.ts';
import {
  cancelWorks,
  questionsAreAnswered,
  resultsAreRight,
  SETTINGS,
  slowIsFine,
  twoQuestionsAreAnswered,
} from './checks.ts';
import type { MatrixClient } from './client.ts';
import { pairsOver } from './pairs.ts';
import { startServer } from './servers.ts';

test.each(pairsOver('stdio'))('D-6, D-7: a client ($who) calls a server that $what (stdio, $player)', async (pair) => {
  const { client: kind, server: serverKind, open, via } = pair;
  const server = await startServer(serverKind, 'stdio');
  const client = await open(await direct(server.config));

  // There is no hub beside this door: who cannot be asked itself has nobody to answer for it.
  const answers = via.length > 0 && kind !== 'tools';
  if (via.length > 0 && !answers) await questionIsRefused(client);
  const anonymous = serverKind === 'pushes';
  // A round of any call may carry a question that belongs to no certain call.
  const carried = anonymous && (kind === 'rounds' || kind === 'extension');
  const names = ['Ada', 'Ben'];
  const asking = { client, names, answerer: client, via, anonymous, askedAgain: carried };
  const [slow] = await Promise.all([
    slowIsFine(client, server, serverKind, { interrupted: carried }),
    resultsAreRight(client, server, serverKind),
    cancelWorks(client, server),
    ...(answers ? [questionsAreAnswered(asking), twoQuestionsAreAnswered(asking)] : []),
  ]);
  if (!carried) {
    expect(slow.asTask).toBe(kind === 'tasks' || kind === 'extension');
    expect(client.asked).toHaveLength(answers ? 6 : 0);
  }

  const pid = Number(client.pid());
  expect(isAlive(pid)).toBe(true);
  await client.close();
  await soon(() => isAlive(pid)).toBe(false);
});

/** The call ends all the same, and says why. */
async function questionIsRefused(client: MatrixClient): Promise<void> {
  const ended = await client.call('ask', { message: whoIs('Ada') }).then(
    ({ isError, content }) => `${isError ? 'refused' : 'answered'}: ${JSON.stringify(content)}`,
    (error: unknown) => `refused: ${String(error)}`,
  );
  expect(ended).toMatch(/^refused: .*did not declare elicitation/);
}

async function direct(config: ServerConfig): Promise<ServerConfig> {
  const file = await configFile({ one: config }, { logLevel: 'silent', ...SETTINGS });
  return { command: process.execPath, args: [QUICK_PROGRAM, 'stdio', '--server', 'one', '--config', file] };
}
