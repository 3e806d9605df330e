/** What a URL says about where the database is, and how it is reached. The rest of the URL is the driver's. */

import { splitHosts } from '../../lib/postgres-url.ts';
import { takeTls, type TlsSettings } from './tls-settings.ts';

export interface Host {
  host: string;
  port: number;
  /** Of the Unix socket, if the host is the folder of one. */
  path?: string;
}

export interface DatabaseAddress {
  hosts: readonly [Host, ...Host[]];
  tls: TlsSettings;
  /** The URL without what is above, as far as it would disturb the driver. */
  url: string;
}

/** Not what is meant by a URL. It may contain the password anywhere. */
export class NotAUrl extends Error {}

/** Fails with `NotAUrl`, or because of a parameter, which it then names. */
export function addressOf(url: string): DatabaseAddress {
  const { first, hosts } = splitHosts(url);
  // A part of the password would pass for the host, and be shown as such.
  if (!URL.canParse(first) || endsInPassword(first)) throw new NotAUrl();
  const parsed = new URL(first);
  const tls = takeTls(parsed.searchParams);
  const [one, ...others] = (hosts.join('') === '' ? (process.env['PGHOST'] ?? '').split(',') : hosts).map(hostIn);
  if (one === undefined) throw new NotAUrl();
  return { hosts: [one, ...others], tls, url: parsed.href };
}

/** Whether a character of the password has ended the host: then the @ behind the password follows later. */
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
