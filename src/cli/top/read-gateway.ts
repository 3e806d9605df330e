import { isIPv6 } from 'node:net';
import { codeOf, messageOf } from '../../lib/log.ts';
import { redactUrl } from '../../lib/redact.ts';
import type { Config } from '../../config/schema.ts';
import { Failure } from '../failure.ts';
import { UsageError } from '../flags.ts';
import { readMetrics, type Sample } from './metrics-text.ts';

/** A gateway whose metrics are read. */
export interface WatchedGateway {
  url: URL;
  token: string | undefined;
}

const TIMEOUT_MS = 5000;
const GIVE_ADDRESS = 'give the address of a gateway, as in meanwhile top http://127.0.0.1:8080';
const ANY_ADDRESS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The address of the metrics, from that of the gateway or of one of its endpoints. */
export function metricsUrl(text: string): URL {
  const withScheme = /^[\w.-]+:\d+(?:\/|$)/.test(text) ? `http://${text}` : text;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`'${text}' is not a URL; ${GIVE_ADDRESS}`);
  }
  const base = url.pathname.replace(/\/mcp(?:\/.*)?$|\/metrics$|\/$/, '');
  url.pathname = `${base}/metrics`;
  url.search = '';
  return url;
}

/** Where a gateway with these settings listens. */
export function configuredGateway({ host, port, auth }: Config['settings']): WatchedGateway {
  if (port === 0) throw new UsageError(`the config file leaves the port open (port 0); ${GIVE_ADDRESS}`);
  const name = ANY_ADDRESS[host] ?? host;
  const [token] = Object.values(auth.tokens);
  return { url: metricsUrl(`http://${isIPv6(name) ? `[${name}]` : name}:${port}`), token };
}

export async function readGateway({ url, token }: WatchedGateway): Promise<Sample[]> {
  const shown = redactUrl(url.href);
  const { ok, status, text } = await get(url, token).catch((error: unknown) => {
    const { cause } = error as Error;
    const code = codeOf(cause);
    const reason = typeof code === 'string' ? code : messageOf(cause ?? error);
    const hint = 'start one with meanwhile serve, or give its address: meanwhile top http://HOST:PORT';
    throw new Failure('unreachable', `no gateway answers at ${shown} (${reason}); ${hint}`);
  });
  const samples = ok ? readMetrics(text) : undefined;
  if (samples !== undefined) return samples;
  throw new Failure('refused', whyNot(status, text, shown));
}

async function get(url: URL, token: string | undefined): Promise<{ ok: boolean; status: number; text: string }> {
  const response = await fetch(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    // A token belongs to this address only.
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { ok, status } = response;
  return { ok, status, text: await response.text() };
}

function whyNot(status: number, text: string, url: string): string {
  switch (status) {
    case 401:
      return `the gateway at ${url} wants a token that it knows: give it with --token, or in MEANWHILE_TOKEN`;
    case 403:
      return `the gateway at ${url} refuses this address: ${/"message":"([^"]*)"/.exec(text)?.[1] ?? 'HTTP 403'}`;
    default:
      return `${url} does not answer with metrics (HTTP ${status}); is it a gateway, and not too old?`;
  }
}
