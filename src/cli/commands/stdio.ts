import { startStdio } from '../../main.ts';
import { configFor } from '../config.ts';
import type { CommandLine } from '../flags.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

export async function stdio(line: CommandLine): Promise<number> {
  const running = await startStdio(await configFor(line, 'stdio'));
  running.log.info('stopping', { reason: await untilStopped(running.closed) });
  return closeInTime(() => running.close(), running.log);
}
