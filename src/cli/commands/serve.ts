import { homedir } from 'node:os';
import { messageOf, stderrLog } from '../../lib/log.ts';
import { startHttp, type HttpGateway } from '../../main.ts';
import { configFor, logConfig, type ProgramConfig } from '../config.ts';
import type { CommandLine } from '../flags.ts';
import { ALL_LEVELS, holdLog, TROUBLE } from '../held-log.ts';
import { launchFile, removeLaunch, writeLaunch } from '../launch-file.ts';
import { styleFor } from '../terminal/style.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

export async function serve(line: CommandLine): Promise<number> {
  const { running, stopped, forget } = await start(line);
  running.log.info('stopping', { reason: await stopped });
  const { store, settings } = running.gateway;
  await forget();
  return closeInTime(() => running.close(), running.log, store.cluster && settings.cluster.drainMs);
}

interface Started {
  running: HttpGateway;
  stopped: Promise<string>;
  /** Removes the launch file, so that other commands no longer find the console. */
  forget: () => Promise<void>;
}

/** If the start fails, only the reason is printed, not the log of the cleanup. */
async function start(line: CommandLine): Promise<Started> {
  const config = await configFor(line);
  const { log, release } = holdLog(stderrLog(config.settings));
  const forPerson = process.stderr.isTTY && config.settings.logLevel !== 'silent';
  try {
    // The banner shows it too.
    if (!forPerson) logConfig(config, log);
    const running = await startHttp(config, log);
    // Before anything is printed: a script may send a signal as soon as it reads the URL.
    const stopped = untilStopped();
    const forget = await leaveLaunch(config, running);
    if (forPerson) process.stderr.write(`${await banner(config, running)}\n`);
    release(ALL_LEVELS);
    return { running, stopped, forget };
  } catch (error) {
    release(TROUBLE);
    throw error;
  }
}

/** Lets other commands of this user find the console. */
async function leaveLaunch({ settings }: ProgramConfig, { console, log }: HttpGateway): Promise<() => Promise<void>> {
  const file = launchFile(settings, process.env);
  const failed = (error: unknown): void => log.warn('launch_file_failed', { file, error: messageOf(error) });
  await writeLaunch(file, { ...console, pid: process.pid }).catch(failed);
  return async () => removeLaunch(file, console).catch(failed);
}

/** Loaded on demand: most starts print nothing for a person, and the width tables of the layout are slow to load. */
async function banner(config: ProgramConfig, { url, console }: HttpGateway): Promise<string> {
  const { serveBanner } = await import('../banner.ts');
  const { stderr } = process;
  return serveBanner(
    config,
    { hub: url, console: `${console.url}#key=${console.key}` },
    {
      cwd: process.cwd(),
      home: homedir(),
      columns: stderr.columns,
      style: styleFor(stderr),
    },
  );
}
