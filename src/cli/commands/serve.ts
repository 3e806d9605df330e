import { homedir } from 'node:os';
import { stderrLog } from '../../lib/log.ts';
import { startHttp, type HttpGateway } from '../../main.ts';
import { configFor, logConfig, type ProgramConfig } from '../config.ts';
import type { CommandLine } from '../flags.ts';
import { ALL_LEVELS, holdLog, TROUBLE } from '../held-log.ts';
import { styleFor } from '../terminal/style.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

export async function serve(line: CommandLine): Promise<number> {
  const { running, stopped } = await start(line);
  running.log.info('stopping', { reason: await stopped });
  const { store, settings } = running.gateway;
  return closeInTime(() => running.close(), running.log, store.cluster && settings.cluster.drainMs);
}

/** If the start fails, only the reason is printed, not the log of the cleanup. */
async function start(line: CommandLine): Promise<{ running: HttpGateway; stopped: Promise<string> }> {
  const config = await configFor(line);
  const { log, release } = holdLog(stderrLog(config.settings));
  const forPerson = process.stderr.isTTY && config.settings.logLevel !== 'silent';
  try {
    // The banner shows it too.
    if (!forPerson) logConfig(config, log);
    const running = await startHttp(config, log);
    // Before anything is printed: a script may send a signal as soon as it reads the URL.
    const stopped = untilStopped();
    if (forPerson) process.stderr.write(`${await banner(config, running.url)}\n`);
    release(ALL_LEVELS);
    return { running, stopped };
  } catch (error) {
    release(TROUBLE);
    throw error;
  }
}

/** Loaded on demand: most starts print nothing for a person, and the width tables of the layout are slow to load. */
async function banner(config: ProgramConfig, url: string): Promise<string> {
  const { serveBanner } = await import('../banner.ts');
  const { stderr } = process;
  return serveBanner(config, url, {
    cwd: process.cwd(),
    home: homedir(),
    columns: stderr.columns,
    style: styleFor(stderr),
  });
}
