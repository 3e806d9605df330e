import { known } from '../../core/errors.ts';
import { startStdio } from '../../main.ts';
import { configFor, logConfig } from '../config.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

/** For a person who started it on a terminal. */
const WAITING = 'meanwhile: this is an MCP server, waiting for a client on standard input; meanwhile --help shows more';

const LAST_OUTPUT_MS = 1000;

export async function stdio(line: CommandLine): Promise<number> {
  const config = await configFor(line, 'stdio');
  const { server } = line.flags;
  if (server !== undefined && !config.servers.has(server)) {
    throw new UsageError(`no server '${server}'; ${known(config.servers.keys())}`);
  }
  const running = await startStdio(config, server);
  const stopped = untilStopped(running.closed);
  logConfig(config, running.log);
  if (process.stdin.isTTY) await greet(process.stderr);
  running.log.info('stopping', { reason: await stopped });
  const code = await closeInTime(() => running.close(), running.log);
  // Do not wait for a client that stopped reading.
  if (process.stdout.writableNeedDrain) setTimeout(() => process.exit(code), LAST_OUTPUT_MS);
  return code;
}

/** Layout is loaded on demand: most starts print nothing for a person, and its width tables are slow to load. */
async function greet(output: NodeJS.WriteStream): Promise<void> {
  const { wrap } = await import('../terminal/layout.ts');
  output.write(`${wrap(WAITING, output.columns ?? 80).join('\n')}\n`);
}
