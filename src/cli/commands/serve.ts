import { startHttp } from '../../main.ts';
import { configFor } from '../config.ts';
import type { CommandLine } from '../flags.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

export async function serve(line: CommandLine): Promise<number> {
  const running = await startHttp(await configFor(line));
  running.log.info('stopping', { reason: await untilStopped() });
  return closeInTime(() => running.close(), running.log);
}
