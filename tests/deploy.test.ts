/** The files in deploy/ cannot be run here; this checks what they promise, and that they fit the program. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { COMMANDS, FLAGS, type FlagDefinition } from '../src/cli/definitions.ts';
import { loadConfig } from '../src/config/load.ts';
import { temporaryFolder } from './support/gateway.ts';
import { ROOT } from './support/imports.ts';

const read = async (name: string): Promise<string> => readFile(join(ROOT, 'deploy', name), 'utf8');

/** The variables that set something in the program. */
const VARIABLES = Object.values<FlagDefinition>(FLAGS).flatMap(({ env }) => env ?? []);

test('L-2: the image is small, runs as a user, keeps its data in a volume and checks its health', async () => {
  const text = await read('Dockerfile');
  const [, stage = ''] = text.split(/^FROM (?=\S+$)/m);
  expect(stage).toMatch(/^node:(\d+)-alpine$/m);
  const node = Number(/^node:(\d+)/.exec(stage)?.[1]);
  expect(node).toBeGreaterThanOrEqual(Number.parseInt(packageJson.engines.node.replace(/\D+/, ''), 10));
  expect(stage).toMatch(/^USER node$/m);
  expect(stage).toMatch(/^VOLUME \/data$/m);
  expect(stage).toMatch(/^HEALTHCHECK .*\n.*\/readyz"\]$/m);
  expect(stage).toContain('MEANWHILE_STORE=/data/');
  expect(stage).toContain(`node_modules/meanwhile/${packageJson.bin.meanwhile}"`);
  expect(Object.keys(COMMANDS)).toContain(/^CMD \["(\w+)"\]$/m.exec(stage)?.[1]);
  for (const [name] of stage.matchAll(/MEANWHILE_\w+/g)) expect(VARIABLES).toContain(name);
});

test('L-2: files with secrets are in neither the package, the image nor the repository', async () => {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, 'deploy'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packageJson));
  for (const name of ['.env', '.env.local', 'compose.yaml']) writeFileSync(join(folder, 'deploy', name), '');
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }];
  expect(files.map(({ path }) => path).toSorted()).toEqual(['deploy/compose.yaml', 'package.json']);
  const lines = (await read('Dockerfile.dockerignore')).split('\n');
  expect(lines).toEqual(expect.arrayContaining(['**/.env', '**/.env.*']));
  const ignored = (await readFile(join(ROOT, '.gitignore'), 'utf8')).split('\n');
  expect(ignored).toEqual(expect.arrayContaining(['.env', '.env.*']));
});

test('L-2: the config file of the image accepts connections from outside the container', async () => {
  const sources = { flags: { config: join(ROOT, 'deploy/meanwhile.json') }, cwd: ROOT };
  const env = { HOME: ROOT, MEANWHILE_TOKEN: '0123456789abcdef', MEANWHILE_HOST: '0.0.0.0' };
  const { settings, servers } = await loadConfig({ ...sources, env });
  expect(settings).toMatchObject({ host: '0.0.0.0', auth: { tokens: { me: '0123456789abcdef' } } });
  expect(servers.size).toBe(1);
  await expect(loadConfig({ ...sources, env: { HOME: ROOT } })).rejects.toThrow('MEANWHILE_TOKEN');
});

function servicesIn(compose: string): Record<string, string> {
  const [, services = ''] = compose.split(/^(?:services|volumes):$/m);
  const each = services.split(/^ {2}(?=[\w-]+:)/m).slice(1);
  return Object.fromEntries(each.map((service) => [/^[\w-]+/.exec(service)?.[0], service]));
}

test('L-2, K-1: compose.yaml runs one gateway, and with a profile Postgres and two gateways', async () => {
  const text = await read('compose.yaml');
  const named = servicesIn(text);
  expect(Object.keys(named)).toEqual(['gateway', 'postgres', 'gateway-1', 'gateway-2', 'balancer']);
  expect(named['gateway']).not.toContain('profiles');
  expect(named['gateway']).toContain('- data:/data');
  for (const name of ['postgres', 'gateway-1', 'balancer']) expect(named[name], name).toContain('profiles: [cluster]');
  expect(named['gateway-2']).toContain('<<: *replica\n');
  for (const [name] of text.matchAll(/MEANWHILE_\w+(?=:)/g)) expect([...VARIABLES, 'MEANWHILE_TOKEN']).toContain(name);

  const value = (name: string, variable: string): string =>
    new RegExp(`${variable}: (\\S+)$`, 'm').exec(named[name] ?? '')?.[1]?.replace(/\$\{.*?\}/, 'secret') ?? '';
  const env = { HOME: ROOT, MEANWHILE_STORE: value('gateway-1', 'MEANWHILE_STORE') };
  for (const name of ['gateway-1', 'gateway-2']) {
    const advertise = value(name, 'MEANWHILE_ADVERTISE');
    const { settings } = await loadConfig({ flags: {}, env: { ...env, MEANWHILE_ADVERTISE: advertise }, cwd: ROOT });
    expect(settings.store).toBe('postgres://meanwhile:secret@postgres/meanwhile');
    // Each is reached by its own name, at the port of the image.
    expect(settings.advertise).toBe(`http://${name}:8080`);
    expect(await read('Caddyfile')).toMatch(new RegExp(`reverse_proxy .*\\b${name}:8080\\b`));
  }
  expect(await read('Dockerfile')).toContain('MEANWHILE_PORT=8080');
});

test('L-2, K-5: process managers give a gateway enough time to stop', async () => {
  const { settings } = await loadConfig({ flags: {}, env: { HOME: ROOT }, cwd: ROOT });
  const seconds = (settings.cluster.drainMs + 5000) / 1000;
  const { 'gateway-1': replica = '' } = servicesIn(await read('compose.yaml'));
  expect(Number(/stop_grace_period: (\d+)s/.exec(replica)?.[1])).toBeGreaterThan(seconds);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(await read('meanwhile.service'))?.[1])).toBeGreaterThan(seconds);
});

test('L-2: the systemd unit starts the gateway with its own data and few privileges', async () => {
  const text = await read('meanwhile.service');
  const settings = new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]));
  const [env, program, command = '', ...flags] = settings.get('ExecStart')?.split(' ') ?? [];
  expect([env, program]).toEqual(['/usr/bin/env', 'meanwhile']);
  expect(command).toBe('serve');
  const known = COMMANDS.serve.flags.map((name) => `--${name}`);
  expect(known).toEqual(expect.arrayContaining(flags.filter((flag) => flag.startsWith('--'))));
  for (const [key, value] of Object.entries({
    DynamicUser: 'yes',
    NoNewPrivileges: 'yes',
    ProtectSystem: 'strict',
    ProtectHome: 'yes',
    StateDirectory: 'meanwhile',
    CapabilityBoundingSet: '',
    RestartPreventExitStatus: '2',
  })) {
    expect(settings.get(key), key).toBe(value);
  }
});
