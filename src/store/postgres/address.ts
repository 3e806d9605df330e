/** The hosts and TLS settings of a database URL. The driver handles the rest of the URL. */

import { splitHosts } from '../../lib/postgres-url.ts';
import { takeTls, type TlsSettings } from './tls-settings.ts';

export interface Host {
  host: string;
  port: number;
  /** The path of the Unix socket, if the host is its folder. */
  path?: string;
}

export interface DatabaseAddress {
  hosts: readonly [Host, ...Host[]];
  tls: TlsSettings;
  /** The URL without the parts that would confuse the driver. */
  url: string;
}

/** The text is not a URL. It may contain the password anywhere. */
export class NotAUrl extends Error {}

/** Throws `NotAUrl`, or an error that names an invalid parameter. */
export function addressOf(url: string): DatabaseAddress {
  const { first, hosts } = splitHosts(url);
  // Otherwise part of the password would be taken for the host, and shown.
  if (!URL.canParse(first) || endsInPassword(first)) throw new NotAUrl();
  const parsed = new URL(first);
  const tls = takeTls(parsed.searchParams);
  const [one, ...others] = (hosts.join('') === '' ? (process.env['PGHOST'] ?? '').split(',') : hosts).map(hostIn);
  if (one === undefined) throw new NotAUrl();
  return { hosts: [one, ...others], tls, url: parsed.href };
}

/** Whether an unescaped character of the password ended the host part: then the @ follows later. */
function endsInPassword(url: string): boolean {
  const { pathname, hash } = new URL(url);
  return `${pathname}${hash}`.includes('@');
}

function hostIn(text: string): Host {
  const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d*))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) throw new NotAUrl();
  const name = decoded(host) || 'localhost';
  const number = Number(port || process.env['PGPORT'] || 5432);
  return { host: name, port: number, ...(name.startsWith('/') && { path: `${name}/.s.PGSQL.${number}` }) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new NotAUrl();
  }
}

export const shown = ({ host, port, path }: Host): string =>
  path ?? `${host.includes(':') ? `[${host}]` : host}:${port}`;
