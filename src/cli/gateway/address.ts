/** Where a running gateway is. */

import { isIPv6 } from 'node:net';
import { redactUrl } from '../../lib/redact.ts';
import type { Config } from '../../config/schema.ts';
import { configFor } from '../config.ts';
import { UsageError, type CommandLine } from '../flags.ts';

export interface GatewayLocation {
  /** Without the path of an endpoint, and without a slash at the end. */
  base: string;
  /** A token of the gateway. */
  token: string | undefined;
}

const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
/** The paths of endpoints and pages after the address of a gateway. */
const OWN_PATH = /\/mcp(?:\/.*)?$|\/metrics$|\/console(?:\/.*)?$|\/api(?:\/.*)?$|\/$/;

/** The address of a gateway, from its own or from that of one of its endpoints. */
export function baseUrl(text: string): string {
  const withScheme = /^[\w.-]+:\d+(?:\/|$)/.test(text) ? `http://${text}` : text;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      `'${text}' is not a URL; give the address of a gateway, such as http://127.0.0.1:8080, or leave it out to use the config file`,
    );
  }
  url.pathname = url.pathname.replace(OWN_PATH, '');
  url.search = '';
  url.hash = '';
  return url.href.replace(/\/$/, '');
}

/** Where a gateway with these settings listens; `undefined` if it takes any free port. */
export function configuredBase({ host, port }: Pick<Config['settings'], 'host' | 'port'>): string | undefined {
  if (port === 0) return undefined;
  const name = ANY_ADDRESS[host] ?? host;
  return baseUrl(`http://${isIPv6(name) ? `[${name}]` : name}:${port}`);
}

/** The address given on the command line: with `--url`, or as an operand. */
export function givenBase({ flags }: CommandLine, operand?: string): string | undefined {
  if (operand !== undefined && flags.url !== undefined) {
    throw new UsageError(`unexpected argument '${operand}': --url already names the gateway`);
  }
  const given = operand ?? flags.url;
  return given === undefined ? undefined : baseUrl(given);
}

export const givenToken = ({ flags }: CommandLine): string | undefined =>
  flags.token ?? (process.env['MEANWHILE_TOKEN'] || undefined);

/** The gateway that the command line or the config file names. */
export async function gatewayAddress(line: CommandLine, operand: string | undefined): Promise<GatewayLocation> {
  const [given, token] = [givenBase(line, operand), givenToken(line)];
  if (given !== undefined) return { base: given, token };
  const { settings } = await configFor(line);
  const base = configuredBase(settings);
  if (base === undefined) {
    throw new UsageError(
      `the config file has no fixed port (port 0); give the address of the gateway, as in meanwhile ${line.command} http://127.0.0.1:8080`,
    );
  }
  return { base, token: token ?? configuredToken(settings) };
}

export const configuredToken = ({ auth }: Pick<Config['settings'], 'auth'>): string | undefined =>
  Object.values(auth.tokens)[0];

/** Without secrets. */
export const shownBase = (base: string): string => redactUrl(base).replace(/\/$/, '');
