import { known } from '../../core/errors.ts';
import { ALL_SERVERS, findGroup } from '../../core/groups.ts';
import { startStdio, type Config } from '../../main.ts';
import { configFor, logConfig } from '../config.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { closeInTime, untilStopped } from '../until-stopped.ts';

/** For a person who started it on a terminal. */
const WAITING = 'meanwhile: this is an MCP server, waiting for a client on standard input; see meanwhile --help';

const LAST_OUTPUT_MS = 1000;

export async function stdio(line: CommandLine): Promise<number> {
  const config = await configFor(line, 'stdio');
  const running = await startStdio(config, nativeView(line, config));
  const stopped = untilStopped(running.closed);
  logConfig(config, running.log);
  if (process.stdin.isTTY) await greet(process.stderr);
  running.log.info('stopping', { reason: await stopped });
  const code = await closeInTime(() => running.close(), running.log);
  // Do not wait for a client that stopped reading.
  if (process.stdout.writableNeedDrain) setTimeout(() => process.exit(code), LAST_OUTPUT_MS);
  return code;
}

/** The servers that the client sees natively; `undefined` for the hub. */
function nativeView(
  { flags }: CommandLine,
  { servers, settings }: Config,
): { server: string } | { group: string } | undefined {
  const { server, all, group } = flags;
  const given = [server !== undefined && '--server', all && '--all', group !== undefined && '--group'].filter(Boolean);
  if (given.length > 1) throw new UsageError(`${given.join(' and ')} exclude each other; give one of them`);
  if (server !== undefined) {
    if (servers.has(server)) return { server };
    throw new UsageError(`no server '${server}'; ${known(servers.keys())}`);
  }
  const name = all ? ALL_SERVERS : group;
  if (name === undefined) return undefined;
  if (findGroup(name, settings) !== undefined) return { group: name };
  throw new UsageError(`no group '${name}'; ${known([ALL_SERVERS, ...Object.keys(settings.groups)])}`);
}

/** Layout is loaded on demand: most starts print nothing for a person, and its width tables are slow to load. */
async function greet(output: NodeJS.WriteStream): Promise<void> {
  const { wrap } = await import('../terminal/layout.ts');
  output.write(`${wrap(WAITING, output.columns ?? 80).join('\n')}\n`);
}
