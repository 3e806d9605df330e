/** `meanwhile doctor` looks at the authorization servers of the configuration. */
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { configFile, type SettingsInput } from '../support/gateway.ts';
import { handmadeIssuer, type HandmadeIssuer } from './issuer.ts';
import { startLoginServer } from './login-server.ts';

const PUBLIC_URL = 'https://gateway.example.com';

interface Report {
  code: number;
  stdout: string;
}

async function doctor(issuer: object, more: SettingsInput = {}): Promise<Report> {
  const config = await configFile({}, { publicUrl: PUBLIC_URL, auth: { issuers: [issuer] }, ...more });
  return runCommand(['doctor', '--config', config]);
}

async function withIssuer(change: (issuer: HandmadeIssuer) => void = () => {}, settings: object = {}): Promise<Report> {
  const issuer = await handmadeIssuer('console');
  change(issuer);
  return doctor({ issuer: issuer.url, ...settings });
}

test('A-N, C-3: doctor accepts a real authorization server that is set up for clients and the console', async () => {
  const { issuer, client } = await startLoginServer(PUBLIC_URL);
  const { code, stdout } = await doctor({ issuer, console: client });
  expect([code, stdout]).toEqual([0, `✓ ${issuer}  issuer of access tokens`]);
});

test('A-N, C-3: doctor reports mistakes of the console client at a real authorization server', async () => {
  const { issuer, client } = await startLoginServer(PUBLIC_URL);
  const elsewhere = await doctor({ issuer, console: client }, { publicUrl: 'https://other.example.com' });
  expect(elsewhere.code).toBe(1);
  expect(elsewhere.stdout).toContain('refuses the client "console" with the redirect URI https://other.example.com');
  expect(elsewhere.stdout).toMatch(/fix: add https:\/\/other\.example\.com\/console\/callback, exactly so/);
  const unknown = await doctor({ issuer, console: { ...client, clientId: 'other' } });
  expect(unknown.stdout).toContain('refuses the client "other"');
  const secret = await doctor({ issuer, console: { ...client, clientSecret: 'a-wrong-secret' } });
  expect(secret.code).toBe(1);
  expect(secret.stdout).toMatch(/answered invalid_client[\s\S]*fix: check clientId, clientSecret and clientAuth/);
  expect(secret.stdout).not.toContain('a-wrong-secret');
});

test('A-N, A-22, C-3: doctor reports problems of an issuer, each with a fix', async () => {
  const fine = await withIssuer();
  expect([fine.code, fine.stdout]).toEqual([0, expect.stringMatching(/^✓ http\S+ {2}issuer of access tokens$/)]);
  const cases: [report: Report, problem: RegExp, fix: RegExp][] = [
    [
      await withIssuer((issuer) => (issuer.broken = true)),
      /no metadata of issuer .* was found.*500/,
      /check the issuer/,
    ],
    [
      await withIssuer((issuer) => (issuer.metadataIssuer = 'https://login.example.com/')),
      /metadata is that of the issuer "https:\/\/login\.example\.com\/"/,
      /exactly as its metadata names it/,
    ],
    [await withIssuer((issuer) => (issuer.metadata = { jwks_uri: null })), /names no jwks_uri/, /set jwksUrl/],
    [
      await withIssuer((issuer) => (issuer.metadata = { jwks_uri: `${issuer.url}/none` })),
      /cannot be read: HTTP status 404/,
      /must reach it/,
    ],
    [
      await withIssuer((issuer) => (issuer.metadata = { introspection_endpoint: null }), {
        introspection: { clientId: 'a', clientSecret: 'b' },
      }),
      /names no introspection_endpoint/,
      /set introspection\.url/,
    ],
    [
      await withIssuer((issuer) => (issuer.metadata = { authorization_endpoint: null }), {
        console: { clientId: 'console' },
      }),
      /names no authorization_endpoint/,
      /check clientId/,
    ],
  ];
  for (const [{ code, stdout }, problem, fix] of cases) {
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^✗ .*issuer of access tokens\\n {2}problem: .*${problem.source}`));
    expect(stdout).toMatch(new RegExp(`fix: .*${fix.source}`));
  }
});

test('A-N, C-3: doctor reports a publicUrl that is missing or has no https', async () => {
  const issuer = await handmadeIssuer('console');
  const missing = await doctor({ issuer: issuer.url }, { publicUrl: undefined, host: '0.0.0.0' });
  expect([missing.code, missing.stdout]).toEqual([
    1,
    expect.stringMatching(/publicUrl is missing[\s\S]*fix: set publicUrl/),
  ]);
  const open = await doctor({ issuer: issuer.url }, { publicUrl: 'http://gateway.example.com' });
  expect([open.code, open.stdout]).toEqual([
    1,
    expect.stringMatching(/without https[\s\S]*fix: put a TLS proxy in front/),
  ]);
  const config = await configFile({}, { auth: { issuers: [{ issuer: issuer.url }] } });
  const { code, stdout } = await runCommand(['doctor', '--config', config, '--json']);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    { servers: [], issuers: [{ issuer: issuer.url, ok: true, problems: [] }] },
  ]);
});
