import { homedir } from 'node:os';
import { stderrLog } from '../../lib/log.ts';
import { startHttp, type HttpGateway } from '../../main.ts';
import { configFor, logWithoutConfig } from '../config.ts';
import type { CommandLine } from '../flags.ts';
import { ALL_LEVELS, holdLog, TROUBLE } from '../held-log.ts';
import { servedLine } from '../served-line.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

export async function serve(line: CommandLine): Promise<number> {
  const running = await start(line);
  running.log.info('stopping', { reason: await untilStopped() });
  return closeInTime(() => running.close(), running.log);
}

/** Of a start that fails only the reason is told, and not how everything was put away again. */
async function start(line: CommandLine): Promise<HttpGateway> {
  const config = await configFor(line);
  const { log, release } = holdLog(stderrLog(config.settings));
  try {
    logWithoutConfig(config, log);
    const running = await startHttp(config, log);
    release(ALL_LEVELS);
    // The log is for programs.
    const attended = process.stderr.isTTY && config.settings.logLevel !== 'silent';
    if (attended) process.stderr.write(`${servedLine(config, running.url, process.cwd(), homedir())}\n`);
    return running;
  } catch (error) {
    release(TROUBLE);
    throw error;
  }
}
