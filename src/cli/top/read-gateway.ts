import { codeOf, messageOf } from '../../lib/log.ts';
import { redactUrl } from '../../lib/redact.ts';
import { Failure } from '../failure.ts';
import type { GatewayLocation } from '../gateway/address.ts';
import { readMetrics, type Sample } from './metrics-text.ts';

const TIMEOUT_MS = 5000;

export async function readGateway({ base, token }: GatewayLocation): Promise<Sample[]> {
  const url = new URL(`${base}/metrics`);
  const shown = redactUrl(url.href);
  const { ok, status, text } = await get(url, token).catch((error: unknown) => {
    const { cause } = error as Error;
    const code = codeOf(cause);
    const reason = typeof code === 'string' ? code : messageOf(cause ?? error);
    const hint = 'start one with meanwhile serve, or give its address: meanwhile top http://HOST:PORT';
    throw new Failure('unreachable', `no gateway is reachable at ${shown} (${reason}); ${hint}`);
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
      return `the gateway at ${url} requires a valid token: give it with --token, or in MEANWHILE_TOKEN`;
    case 403:
      return `the gateway at ${url} refuses this address: ${/"message":"([^"]*)"/.exec(text)?.[1] ?? 'HTTP 403'}`;
    default:
      return `${url} does not answer with metrics (HTTP ${status}); check that it is a gateway of a recent version`;
  }
}
