import { expect, it } from 'vitest';
import { takeTls } from './tls-settings.ts';

const settings = (parameters: string) => takeTls(new URLSearchParams(parameters));

it.each([
  ['', 'prefer'],
  ['sslmode=', 'prefer'],
  ['sslmode=disable', 'disable'],
  ['sslmode=allow', 'allow'],
  ['sslmode=verify-ca', 'verify-ca'],
  ['sslmode=prefer&sslmode=require', 'require'],
  ['ssl=true', 'require'],
  ['ssl=false', 'disable'],
  ['ssl=verify-full', 'verify-full'],
  ['ssl=true&sslmode=verify-full', 'verify-full'],
  ['sslrootcert=system', 'verify-full'],
])('K-1: %j means sslmode %s', (parameters, mode) => {
  expect(settings(parameters)).toEqual({ mode, isDirect: false });
});

it('K-1: the parameters name files and the passphrase of a key', () => {
  expect(
    settings('sslmode=require&sslnegotiation=direct&sslrootcert=ca&sslcert=own&sslkey=key&sslpassword=swordfish'),
  ).toEqual({
    mode: 'require',
    isDirect: true,
    authority: 'ca',
    certificate: 'own',
    key: 'key',
    passphrase: 'swordfish',
  });
});

it.each([
  ['sslmode=on', 'sslmode is unknown; use one of disable, allow, prefer, require, verify-ca, verify-full'],
  ['sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full'],
  ['sslcert=own', 'sslcert and sslkey must be set together'],
  ['sslkey=key&sslpassword=swordfish', 'sslcert and sslkey must be set together'],
  ['sslnegotiation=direct', 'sslnegotiation=direct needs sslmode=require, verify-ca or verify-full'],
  ['sslnegotiation=none', 'sslnegotiation is unknown; use postgres or direct'],
  ['channel_binding=require', 'channel_binding=require is not supported; omit it: sslmode=verify-full'],
  ['gssencmode=require', 'gssencmode=require is not supported; omit it, and use sslmode=verify-full'],
])('K-1: the parameters %j are refused', (parameters, message) => {
  expect(() => settings(parameters)).toThrow(message);
});
