import { afterEach, expect, it, vi } from 'vitest';
import { addressOf, NotAUrl, shown } from './address.ts';

afterEach(() => vi.unstubAllEnvs());

it.each([
  ['postgres://db/x', ['db:5432']],
  ['postgres://ann:hunter2@db:6000/x', ['db:6000']],
  ['postgres://ann:hun,ter2@one:6000,two,[::1]:7000,[::2]/x', ['one:6000', 'two:5432', '[::1]:7000', '[::2]:5432']],
  ['postgres:///x', ['localhost:5432']],
  ['postgres://ann:hunter2@%2Fvar%2Frun:6000/x', ['/var/run/.s.PGSQL.6000']],
])('K-1: the hosts of %s are %j', (url, hosts) => {
  vi.stubEnv('PGHOST', '');
  vi.stubEnv('PGPORT', '');
  expect(addressOf(url).hosts.map(shown)).toEqual(hosts);
});

it('K-1: hosts and port that a URL lacks come from the environment', () => {
  vi.stubEnv('PGHOST', 'one,/tmp');
  vi.stubEnv('PGPORT', '6000');
  expect(addressOf('postgres:///x').hosts.map(shown)).toEqual(['one:6000', '/tmp/.s.PGSQL.6000']);
  expect(addressOf('postgres://db/x').hosts.map(shown)).toEqual(['db:6000']);
});

it('K-1: the driver gets the URL without TLS parameters, and with the first host', () => {
  const tls = 'sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&sslpassword=p&sslnegotiation=direct&ssl=true';
  const url = `postgres://ann:hun%40ter2@one:1,two:2/x?${tls}&search_path=a,b&channel_binding=prefer&gssencmode=prefer`;
  expect(decodeURIComponent(addressOf(url).url)).toBe('postgres://ann:hun@ter2@one:1/x?search_path=a,b');
});

it.each([
  'postgres://ann:hunter2@host:port/x',
  'postgres://ann:hunter2@one,two:port/x',
  'postgres://ann:hunter2@%/x',
  'postgres://ann:hunter/2@host/x',
  'postgres://ann:hunter#2@host/x',
])('K-1: %s is not a URL', (url) => {
  expect(() => addressOf(url)).toThrow(NotAUrl);
});
