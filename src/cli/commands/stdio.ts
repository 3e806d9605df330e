import { startStdio } from '../../main.ts';
import { configFor } from '../config.ts';
import type { CommandLine } from '../flags.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

/** For a person who started it by hand and sees nothing happen. */
const WAITING = 'meanwhile: this is an MCP server, waiting for a client on standard input; meanwhile --help shows more';

export async function stdio(line: CommandLine): Promise<number> {
  const running = await startStdio(await configFor(line, 'stdio'));
  const stopped = untilStopped(running.closed);
  if (process.stdin.isTTY) process.stderr.write(`${WAITING}\n`);
  running.log.info('stopping', { reason: await stopped });
  return closeInTime(() => running.close(), running.log);
}
