import type { CommandLine } from '../flags.ts';
import { configFor } from '../config.ts';
import { Failure } from '../failure.ts';
import { launchFile, readLaunch } from '../launch-file.ts';
import { baseUrl, configuredBase, configuredToken, givenBase, givenToken } from './address.ts';

/** How to access a running gateway. */
export interface GatewayAccess {
  /** Without the path of an endpoint, and without a slash at the end. */
  base: string;
  /** Opens its API: a token, or the key that the gateway left for commands of the same user. */
  secret: { kind: 'token' | 'key'; text: string };
}

/**
 * The gateway that the command line or the config file names. Without a token, the command uses the key that a gateway writes to a file
 * at startup; the file also contains the address of a gateway that chose a free port.
 */
export async function findGateway(line: CommandLine, operand?: string): Promise<GatewayAccess> {
  const [given, token] = [givenBase(line, operand), givenToken(line)];
  if (given !== undefined && token !== undefined) return { base: given, secret: { kind: 'token', text: token } };
  const { settings } = await configFor(line);
  const launched =
    (await launchedAt(settings)) ??
    (given === undefined ? undefined : await launchedAt({ ...settings, ...placeOf(given) }));
  const base = given ?? launched?.base ?? configuredBase(settings);
  if (base === undefined) throw notRunning(line);
  if (token !== undefined) return { base, secret: { kind: 'token', text: token } };
  if (launched !== undefined && isSamePlace(base, launched.base)) {
    // The file has the address at which the gateway actually listens.
    return { base: launched.base, secret: { kind: 'key', text: launched.key } };
  }
  const configured = given === undefined ? configuredToken(settings) : undefined;
  if (configured !== undefined) return { base, secret: { kind: 'token', text: configured } };
  throw given === undefined ? notRunning(line) : noKey(given, line);
}

async function launchedAt(where: Parameters<typeof launchFile>[0]): Promise<{ base: string; key: string } | undefined> {
  const launch = await readLaunch(launchFile(where, process.env));
  return launch && { base: baseUrl(launch.url), key: launch.key };
}

/** As in the settings of that gateway, which may differ from those of the config file. */
function placeOf(base: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(base);
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

function isSamePlace(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)];
  if (a.port !== b.port || a.protocol !== b.protocol || a.pathname !== b.pathname) return false;
  return a.hostname === b.hostname || (LOOPBACK.test(a.hostname) && LOOPBACK.test(b.hostname));
}

function notRunning({ command, flags }: CommandLine): Failure {
  const whose = flags.config === undefined ? '' : ` of ${flags.config}`;
  return new Failure(
    'unreachable',
    `no gateway${whose} is running for this user on this machine; start one with meanwhile serve (with the same --config and ` +
      `--store), or give its address: meanwhile ${command} --url http://HOST:PORT --token TOKEN`,
  );
}

function noKey(base: string, { command }: CommandLine): Failure {
  return new Failure(
    'refused',
    `the gateway at ${base} requires a token, because this user has no key for it; pass it with ` +
      `--token or MEANWHILE_TOKEN. A gateway on this machine needs no address: meanwhile ${command} [--config FILE] [--store PATH]`,
  );
}
