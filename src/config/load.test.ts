import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import { type ConfigFlags, loadConfig } from './load.ts';
import type { Environment } from './paths.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'meanwhile-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: unknown, flags: ConfigFlags = {}, env: Environment = {}) {
  await writeFile(join(cwd, 'meanwhile.json'), typeof file === 'string' ? file : JSON.stringify(file));
  return loadConfig({ flags: { config: 'meanwhile.json', ...flags }, env, cwd });
}

async function mistakes(file: unknown, flags: ConfigFlags = {}, env: Environment = {}): Promise<readonly string[]> {
  try {
    await load(file, flags, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

const server = (entry: unknown) => ({ mcpServers: { github: entry } });
const settings = (meanwhile: unknown) => ({ meanwhile });

describe('a valid config', () => {
  it('P-1: a config file is optional', async () => {
    const config = await loadConfig({ flags: {}, env: { HOME: '/home/ann', XDG_DATA_HOME: '/data' }, cwd });
    expect(config.servers.size).toBe(0);
    expect(config.settings.port).toBe(8080);
    expect(config.settings.store).toMatch(/meanwhile\.db$/);
    expect(config).not.toHaveProperty('file');
  });

  it('B-1: reads the servers into the types of the core', async () => {
    const config = await load(
      {
        $schema: './schema.json',
        mcpServers: {
          web: { type: 'http', url: 'https://x/${P}', headers: { Authorization: 'Bearer ${T}' }, timeout: 60 },
          local: { command: 'node', args: ['${P}.js'], env: { KEY: '${T}' }, cwd: 'sub', autoApprove: ['*'] },
          bare: { type: 'stdio', command: 'x', description: 'd', alwaysAllow: [] },
          off: { url: '${NOT_SET}', disabled: true },
          on: { url: 'http://on/', disabled: false },
        },
      },
      {},
      { P: 'grün', T: 't0ken' },
    );
    expect(Object.fromEntries(config.servers)).toEqual({
      web: { url: 'https://x/grün', headers: { Authorization: 'Bearer t0ken' } },
      local: { command: 'node', args: ['grün.js'], env: { KEY: 't0ken' }, cwd: join(cwd, 'sub') },
      bare: { command: 'x' },
      on: { url: 'http://on/' },
    });
    expect(config.file).toBe(join(cwd, 'meanwhile.json'));
  });

  it('T-2: settings in the file override only the defaults that they name', async () => {
    const { settings: loaded } = await load(
      settings({ tasks: { ttlMs: 1000 }, auth: { tokens: { ann: 'x'.repeat(16) } } }),
    );
    expect(loaded.tasks).toMatchObject({ ttlMs: 1000, maxTtlMs: 1_800_000 });
    expect(loaded.auth.tokens).toEqual({ ann: 'x'.repeat(16) });
  });
});

describe('groups', () => {
  const mcpServers = {
    github: { url: 'http://github/', include: ['get_*'], exclude: ['get_secret'] },
    'team-a': { command: 'a', share: 'principal', exclude: ['*'] },
    GitHub: { url: 'http://other/' },
    off: { url: 'http://off/', disabled: true },
  };
  const withGroups = (groups: unknown) => ({ mcpServers, ...settings({ groups }) });

  it('M-1, M-6: groups select servers and tools, and servers select their own tools', async () => {
    const config = await load({
      mcpServers,
      ...settings({
        all: { maxNameLength: 64 },
        groups: {
          dev: { servers: ['github', 'team-*'], include: ['github__*'], exclude: ['*__delete_*'], prefix: false },
          everything: {},
        },
      }),
    });
    expect(config.settings.groups).toEqual({
      dev: { servers: ['github', 'team-*'], include: ['github__*'], exclude: ['*__delete_*'], prefix: false },
      everything: { prefix: true },
    });
    expect(config.settings.all).toEqual({
      listTimeoutMs: 5000,
      listBytes: 4_194_304,
      maxNameLength: 64,
      helperTools: 'auto',
    });
    expect(config.servers.get('github')).toEqual(mcpServers.github);
    expect(config.servers.get('team-a')).toEqual(mcpServers['team-a']);
    expect(config.warnings).toEqual([]);
  });

  it('M-1: a pattern that matches no server and a group without servers are warnings', async () => {
    const { warnings } = await load(withGroups({ dev: { servers: ['TEAM-*', 'x-*'] }, none: { servers: [] } }));
    expect(warnings).toEqual([
      "meanwhile.json: meanwhile.groups.dev.servers[1]: the pattern 'x-*' matches no server; known: GitHub, github, team-a",
      'meanwhile.json: meanwhile.groups.none: this group has no server',
    ]);
    expect((await load(settings({ groups: { g: {} } }))).warnings).toEqual([
      'meanwhile.json: meanwhile.groups.g: this group has no server',
    ]);
  });

  it('M-1: the names of servers, groups and the endpoint of all servers must differ', async () => {
    const url = 'http://x/';
    expect(await mistakes({ servers: { all: { url } }, ...settings({ groups: { all: {} } }) })).toEqual([
      'meanwhile.json: servers.all: /mcp/all is the endpoint of all servers; give this server another name',
      'meanwhile.json: meanwhile.groups.all: /mcp/all is the endpoint of all servers; give this group another name',
    ]);
    expect(await mistakes(withGroups({ github: {} }))).toEqual([
      "meanwhile.json: meanwhile.groups.github: the group 'github' and the server 'github' would both be at /mcp/github; rename one of them",
    ]);
    expect(await mistakes(withGroups({ 'a/b': {} }))).toEqual([expect.stringContaining('a name must be 1 to 64')]);
  });

  it('M-1: a server that a group names must be configured', async () => {
    expect(await mistakes(withGroups({ dev: { servers: ['githb', 'off', 'zebra', 'Github'] } }))).toEqual([
      "meanwhile.json: meanwhile.groups.dev.servers[0]: no server 'githb'; did you mean 'github'? known: GitHub, github, team-a",
      "meanwhile.json: meanwhile.groups.dev.servers[1]: the server 'off' is disabled; enable it, or remove it from the group",
      "meanwhile.json: meanwhile.groups.dev.servers[2]: no server 'zebra'; known: GitHub, github, team-a",
      "meanwhile.json: meanwhile.groups.dev.servers[3]: no server 'Github'; did you mean 'github'? known: GitHub, github, team-a",
    ]);
  });
});

describe('the audit record', () => {
  const auditOf = async (audit: unknown): Promise<unknown> => (await load(settings({ audit }))).settings.audit;

  it('G-5: is off by default, and has defaults for missing settings', async () => {
    const defaults = { keepMs: 7_776_000_000, bytes: 268_435_456, arguments: 'hash' };
    expect((await load({})).settings.audit).toBeUndefined();
    expect(await auditOf(false)).toBeUndefined();
    expect(await auditOf(true)).toEqual(defaults);
    expect(await auditOf({})).toEqual(defaults);
    expect(await auditOf({ keepMs: 60_000, arguments: 'none' })).toEqual({
      ...defaults,
      keepMs: 60_000,
      arguments: 'none',
    });
  });

  it('G-5: mistakes in its settings are reported', async () => {
    for (const [audit, mistake] of [
      ['yes', /meanwhile\.audit: expected true or false or an object, got "yes"/],
      [{ arguments: 'hashed' }, /meanwhile\.audit\.arguments: expected .*"hash"/],
      [{ keepMs: 0 }, /meanwhile\.audit\.keepMs: .*60000/],
      [{ keep: 5 }, /meanwhile\.audit\.keep: unknown key; did you mean .keepMs/],
    ] as const) {
      expect(await mistakes(settings({ audit })), JSON.stringify(audit)).toEqual([expect.stringMatching(mistake)]);
    }
  });
});

describe('precedence', () => {
  const file = settings({ port: 1, host: 'file', logLevel: 'error', store: 'file.db' });
  const env = {
    MEANWHILE_PORT: '2',
    MEANWHILE_HOST: 'env',
    MEANWHILE_LOG_LEVEL: 'warn',
    MEANWHILE_STORE: 'env.db',
  };
  const flags = { port: '3', host: 'flag', 'log-level': 'debug', store: 'flag.db' };
  const picked = async (...[f, e]: [ConfigFlags?, Environment?]) => {
    const { port, host, logLevel, store } = (await load(file, f, e)).settings;
    return { port, host, logLevel, store };
  };

  it('O-1: the file overrides the default, the environment the file, and a flag the environment', async () => {
    expect(await picked()).toEqual({ port: 1, host: 'file', logLevel: 'error', store: join(cwd, 'file.db') });
    expect(await picked({}, env)).toEqual({ port: 2, host: 'env', logLevel: 'warn', store: join(cwd, 'env.db') });
    expect(await picked(flags, env)).toEqual({ port: 3, host: 'flag', logLevel: 'debug', store: join(cwd, 'flag.db') });
  });

  it('K-3: the address for other gateways is validated, and is only useful with a database', async () => {
    const store = 'postgres://ann:hunter2@db/meanwhile';
    for (const advertise of ['http://gateway-1:8080', 'https://10.0.0.1/', 'http://[::1]:81']) {
      const { settings: found, warnings } = await load(settings({ store }), { advertise });
      expect([found.advertise, warnings]).toEqual([advertise, []]);
    }
    const wrong = ['gateway-1:8080', 'ftp://a', 'http://a/mcp', 'http://a?b', 'http://a/#', 'http://u:p@a', 'http://'];
    for (const advertise of wrong) {
      expect(await mistakes({}, { advertise }), advertise).toEqual([
        expect.stringContaining('--advertise: expected an address such as http://gateway-1:8080, without a path,'),
      ]);
    }
    expect((await load({}, {}, { MEANWHILE_ADVERTISE: 'http://a' })).warnings).toEqual([
      'MEANWHILE_ADVERTISE: has no effect: only gateways that share a postgres:// store reach each other',
    ]);
  });

  it('A-1: with issuers, a gateway that listens on all addresses warns if publicUrl is missing', async () => {
    const issuers = [{ issuer: 'https://id.example.com' }];
    const warned = async (meanwhile: object, flags: ConfigFlags = {}): Promise<readonly string[]> =>
      (await load(settings({ auth: { issuers }, ...meanwhile }), flags)).warnings;
    for (const host of ['0.0.0.0', '::']) {
      expect(await warned({ host })).toEqual([
        expect.stringContaining(`meanwhile.json: meanwhile.publicUrl: missing: clients would request tokens for`),
      ]);
    }
    expect(await warned({}, { host: '0.0.0.0' })).toHaveLength(1);
    expect(await warned({})).toEqual([]);
    expect(await warned({ host: '0.0.0.0', publicUrl: 'https://gateway.example.com' })).toEqual([]);
    expect(await warned({ host: '0.0.0.0', auth: { tokens: { ann: 'x'.repeat(16) } } })).toEqual([]);
  });

  it('A-4: URLs of an issuer must use https or this machine', async () => {
    const issuer = { issuer: 'https://id.example.com' };
    const asked = (url: string) => ({
      ...issuer,
      jwksUrl: url,
      introspection: { url, clientId: 'a', clientSecret: 'b' },
    });
    for (const url of ['https://keys.example.com/', 'http://127.0.0.1:9000/', 'http://localhost/', 'http://[::1]/']) {
      expect(await mistakes(settings({ auth: { issuers: [asked(url)] } })), url).toEqual([]);
    }
    const expected = 'expected a URL starting with https://, or with http:// on this machine';
    for (const url of ['http://keys.example.com/', 'http://localhost.example.com/', 'ftp://127.0.0.1/']) {
      expect(await mistakes(settings({ auth: { issuers: [asked(url)] } })), url).toEqual([
        expect.stringContaining(`auth.issuers[0].jwksUrl: ${expected}`),
        expect.stringContaining(`auth.issuers[0].introspection.url: ${expected}`),
      ]);
    }
  });

  it('an empty environment variable counts as not set', async () => {
    expect(await picked({}, { MEANWHILE_PORT: '', MEANWHILE_STORE: '' })).toMatchObject({ port: 1 });
  });

  it('the flag for the config file overrides its environment variable', async () => {
    await writeFile(join(cwd, 'other.json'), JSON.stringify(settings({ port: 7 })));
    const env = { MEANWHILE_CONFIG: 'other.json' };
    expect((await loadConfig({ flags: {}, env, cwd })).settings.port).toBe(7);
    expect((await load(file, {}, env)).settings.port).toBe(1);
  });

  it('P-1: paths are relative to the file or the working folder that they come from', async () => {
    await mkdir(join(cwd, 'etc'));
    const config = join(cwd, 'etc', 'm.json');
    await writeFile(config, JSON.stringify({ ...settings({ store: 'x.db' }), ...server({ command: 'a', cwd: '..' }) }));
    const fromFile = await loadConfig({ flags: { config }, env: {}, cwd });
    expect(fromFile.settings.store).toBe(join(cwd, 'etc', 'x.db'));
    expect(fromFile.servers.get('github')).toEqual({ command: 'a', cwd });
    const fromFlag = await loadConfig({ flags: { config, store: 'x.db' }, env: {}, cwd });
    expect(fromFlag.settings.store).toBe(join(cwd, 'x.db'));
    const inMemory = await loadConfig({ flags: { config, store: ':memory:' }, env: {}, cwd });
    expect(inMemory.settings.store).toBe(':memory:');
  });
});

describe('files of other programs', () => {
  it.each<[string, unknown, unknown]>([
    ['streamableHttp', { type: 'streamableHttp', url: 'http://x/' }, { url: 'http://x/' }],
    ['transport', { transport: 'sse', url: 'http://x/' }, { url: 'http://x/' }],
    ['httpUrl', { httpUrl: 'http://x/', headers: { A: 'b' } }, { url: 'http://x/', headers: { A: 'b' } }],
    ['serverUrl', { serverUrl: 'http://x/', enabled: true }, { url: 'http://x/' }],
    ['transport of a command', { transport: 'stdio', command: 'x' }, { command: 'x' }],
  ])('B-1: the key or type %s is accepted', async (_what, entry, expected) => {
    expect((await load(server(entry))).servers.get('github')).toEqual(expected);
  });

  it('B-1: `enabled: false` leaves a server out, even with variables that are not set', async () => {
    const { servers } = await load({
      mcpServers: { off: { url: '${NOT_SET}', enabled: false }, on: { command: 'x' } },
    });
    expect([...servers.keys()]).toEqual(['on']);
  });

  it("B-1: VS Code's `servers` and `inputs` are understood", async () => {
    const { servers } = await load({ inputs: [], servers: { 'My Server': { type: 'http', url: 'http://x/' } } });
    expect(Object.fromEntries(servers)).toEqual({ 'My Server': { url: 'http://x/' } });
  });

  it('B-1: `envFile` is relative to the folder of the config file, and `env` takes precedence', async () => {
    await writeFile(join(cwd, '.env'), '# keys\nKEY="from file"\nOTHER=2\n');
    const { servers } = await load(server({ command: 'x', env: { OTHER: '3' }, envFile: '.env' }));
    expect(servers.get('github')).toEqual({ command: 'x', env: { KEY: 'from file', OTHER: '3' } });
  });

  it('X-4: a missing `envFile` is reported', async () => {
    expect(await mistakes(server({ command: 'x', envFile: 'no.env' }))).toEqual([
      expect.stringMatching(/^meanwhile\.json: mcpServers\.github\.envFile: cannot be read: ENOENT/),
    ]);
  });

  it('X-4: a server with two URLs is a mistake', async () => {
    expect(await mistakes(server({ url: 'http://x/', httpUrl: 'http://y/' }))).toEqual([
      'meanwhile.json: mcpServers.github: has both "url" and "httpUrl"; keep one of them',
    ]);
  });
});

describe('the store', () => {
  it.each(['mysql://ann:hunter2@db/x', 'redis://x', 'sqlite:x.db', 'file:/x.db'])(
    'P-1: %s is not accepted as a file name',
    async (store) => {
      for (const found of [await mistakes({}, { store }), await mistakes(settings({ store }))]) {
        expect(found).toEqual([
          expect.stringMatching(/(--store|meanwhile\.store): expected a file, `:memory:`, or postgres:/),
        ]);
        expect(found.join()).not.toContain('hunter2');
      }
    },
  );

  it.each(['postgres://ann:hunter2@db/x', 'postgresql://db:5432/x?sslmode=require'])(
    'K-1: %s is accepted as a database, in the file and as a flag',
    async (store) => {
      expect((await load({}, { store })).settings.store).toBe(store);
      expect((await load(settings({ store }))).settings.store).toBe(store);
    },
  );

  it.each(['x.db', './a:b.db', ':memory:', 'C:\\data\\x.db'])('P-1: %s is accepted as a file name', async (store) => {
    expect((await load({}, { store })).settings.store).toContain(store.replace(/^\.\//, ''));
  });
});

describe('mistakes', () => {
  it.each<[unknown, string]>([
    [
      server({ url: 'htp:/x' }),
      'mcpServers.github.url: expected a URL starting with http:// or https://, got "htp:/x"',
    ],
    [
      server({ url: 'http://' }),
      'mcpServers.github.url: expected a URL starting with http:// or https://, got "http://"',
    ],
    [server({ url: 5 }), 'mcpServers.github.url: expected a string, got 5'],
    [server({ url: 'http://x', comand: 'x' }), "mcpServers.github.comand: unknown key; did you mean 'command'?"],
    [server({ command: 'x', arg: [] }), "mcpServers.github.arg: unknown key; did you mean 'args'?"],
    [server({ command: '' }), 'mcpServers.github.command: must not be empty'],
    [server({ command: 'x', args: 'y' }), 'mcpServers.github.args: expected an array, got a string'],
    [server({ command: 'x', args: ['y', 1] }), 'mcpServers.github.args[1]: expected a string, got a number'],
    [server({ command: 'x', env: { A: 1 } }), 'mcpServers.github.env.A: expected a string, got a number'],
    [server({ command: 'x', env: { 'A=B': '' } }), 'mcpServers.github.env."A=B": not a valid name of a variable'],
    [
      server({ url: 'http://x', headers: { 'a b': '' } }),
      'mcpServers.github.headers."a b": not a valid name of a header',
    ],
    [
      server({ url: 'http://x', headers: { a: 'x\ny' } }),
      'mcpServers.github.headers.a: a header cannot hold this character',
    ],
    [
      server({ url: 'http://x', headers: { a: '🗝️' } }),
      'mcpServers.github.headers.a: a header cannot hold this character',
    ],
    [
      server({ type: 'stdio', url: 'http://x' }),
      'mcpServers.github.type: expected "http" or "streamable-http" or "streamableHttp" or "streamable_http" or "sse", got "stdio"',
    ],
    [server({ url: 'http://x', command: 'y' }), 'mcpServers.github: has both "url" and "command"; keep one of them'],
    [server({}), 'mcpServers.github: expected "url" or "command"'],
    [server({ uri: 'http://x' }), `mcpServers.github: expected "url" or "command"; did you mean 'url'?`],
    [server('http://x'), 'mcpServers.github: expected an object, got "http://x"'],
    [server(null), 'mcpServers.github: expected an object, got null'],
    [{ mcpServers: [] }, 'mcpServers: expected an object, got an array'],
    [{ mcpServer: {} }, "mcpServer: unknown key; did you mean 'mcpServers'?"],
    [
      { servers: { github: { httpUrl: 'htp:/x' } } },
      'servers.github.httpUrl: expected a URL starting with http:// or https://, got "htp:/x"',
    ],
    [{ servers: {}, mcpServers: {} }, "servers: unknown key; did you mean 'mcpServers'?"],
    [{ zebra: 1 }, 'zebra: unknown key; known: $schema, mcpServers, meanwhile'],
    [{ port: 9000 }, "port: unknown key; did you mean 'meanwhile.port'?"],
    [{ 'log-level': 'info' }, "log-level: unknown key; did you mean 'meanwhile.logLevel'?"],
    [{ url: 'http://x' }, "url: unknown key; did you mean 'mcpServers.NAME.url'?"],
    [{ disabled: true }, "disabled: unknown key; did you mean 'mcpServers.NAME.disabled'?"],
    [{ github: { command: 'x' } }, "github: unknown key; did you mean 'mcpServers.github'?"],
    [{ name: 'x' }, 'name: unknown key; known: $schema, mcpServers, meanwhile'],
    [settings({ prot: 1 }), "meanwhile.prot: unknown key; did you mean 'port'?"],
    [settings({ tokens: {} }), "meanwhile.tokens: unknown key; did you mean 'auth.tokens'?"],
    [settings({ maxMs: 1 }), "meanwhile.maxMs: unknown key; did you mean 'servers.reconnect.maxMs'?"],
    [
      settings({ timeoutMs: 1 }),
      "meanwhile.timeoutMs: unknown key; did you mean 'calls.timeoutMs' or 'questions.timeoutMs'?",
    ],
    [settings({ tasks: { port: 1 } }), "meanwhile.tasks.port: unknown key; did you mean 'meanwhile.port'?"],
    [
      server({ url: 'http://x', waitMs: 1 }),
      "mcpServers.github.waitMs: unknown key; did you mean 'meanwhile.limits.waitMs'?",
    ],
    [settings({ tasks: { ttlms: 1 } }), "meanwhile.tasks.ttlms: unknown key; did you mean 'ttlMs'?"],
    [settings({ port: '80' }), 'meanwhile.port: expected a number, got "80"'],
    [settings({ port: 1.5 }), 'meanwhile.port: expected a whole number, got 1.5'],
    [settings({ port: 65_536 }), 'meanwhile.port: expected at most 65535, got 65536'],
    [settings({ port: -1 }), 'meanwhile.port: expected at least 0, got -1'],
    [settings({ tasks: { ttlMs: 1e300 } }), 'meanwhile.tasks.ttlMs: expected at most 2147483647, got 1e+300'],
    [settings({ limits: { waitMs: 2 ** 31 } }), 'meanwhile.limits.waitMs: expected at most 2147483647, got 2147483648'],
    [settings({ tasks: { maxTtlMs: 5 } }), 'meanwhile.tasks: ttlMs (300000) must not be more than maxTtlMs (5)'],
    [
      settings({ servers: { reconnect: { maxMs: 5 } } }),
      'meanwhile.servers.reconnect: firstMs (1000) must not be more than maxMs (5)',
    ],
    [
      settings({ logLevel: 'loud' }),
      'meanwhile.logLevel: expected "debug" or "info" or "warn" or "error" or "silent", got "loud"',
    ],
    [settings({ allowCommands: 'yes' }), 'meanwhile.allowCommands: expected true or false, got "yes"'],
    [
      settings({ allowedOrigins: ['https://x/'] }),
      'meanwhile.allowedOrigins[0]: expected an origin such as https://app.example.com, without a path, got "https://x/"',
    ],
    [server({ url: 'http://x', include: 'get_*' }), 'mcpServers.github.include: expected an array, got "get_*"'],
    [server({ url: 'http://x', exclude: [''] }), 'mcpServers.github.exclude[0]: must not be empty'],
    [
      server({ command: 'x', include: [] }),
      'mcpServers.github.include: an empty list would hide every tool; remove it to show all tools',
    ],
    [settings({ exclude: ['x'] }), "meanwhile.exclude: unknown key; did you mean 'groups.NAME.exclude'?"],
    [settings({ groups: { g: { server: ['x'] } } }), "meanwhile.groups.g.server: unknown key; did you mean 'servers'?"],
    [settings({ all: { maxNameLength: 8 } }), 'meanwhile.all.maxNameLength: expected at least 24, got 8'],
    [settings({ store: '' }), 'meanwhile.store: must not be empty'],
    [settings(null), 'meanwhile: expected an object, got null'],
    [settings({ tasks: 3 }), 'meanwhile.tasks: expected an object, got 3'],
    [[], 'expected an object, got an array'],
    ['null', 'expected an object, got null'],
  ])('X-4: %j', async (file, mistake) => {
    expect(await mistakes(file)).toEqual([`meanwhile.json: ${mistake}`]);
  });

  it('X-4: are all listed, one per line', async () => {
    const file = { ...server({ url: 'x' }), meanwhile: { port: -1, tasks: { ttlMs: 0 } }, zebra: 1 };
    await expect(load(file)).rejects.toThrow(ConfigError);
    const found = await mistakes(file);
    expect(found).toHaveLength(4);
    await expect(load(file)).rejects.toThrow(found.join('\n'));
  });

  it.each(['', ' a', 'a ', 'x'.repeat(65), 'schlüssel', 'a/b', 'constructor', 'prototype'])(
    'X-4: %j cannot be the name of a server',
    async (name) => {
      const found = await mistakes({ mcpServers: { [name]: { url: 'http://x' } } });
      expect(found).toEqual([
        expect.stringMatching(/^meanwhile\.json: mcpServers\..*(not allowed|a name must be 1 to 64)/),
      ]);
    },
  );

  it('X-4: the key __proto__ is refused at every level', async () => {
    const entry = '{"__proto__": {"url": "http://x"}}';
    const message = 'this name is not allowed';
    expect(await mistakes(`{"mcpServers": ${entry}}`)).toEqual([`meanwhile.json: mcpServers.__proto__: ${message}`]);
    expect(await mistakes(`{"meanwhile": ${entry}}`)).toEqual([`meanwhile.json: meanwhile.__proto__: ${message}`]);
    expect(await mistakes(entry)).toEqual([`meanwhile.json: __proto__: ${message}`]);
    expect({}).not.toHaveProperty('url');
  });

  it('B-1: a variable that is not set is reported with its path', async () => {
    expect(await mistakes(server({ url: '${BASE}/mcp' }))).toEqual([
      'meanwhile.json: mcpServers.github.url: the environment variable BASE is not set; set it, or give a default: ${BASE:-default}',
    ]);
  });

  it('X-4: invalid JSON is reported with line and column', async () => {
    expect(await mistakes('{\n  "mcpServers": {}, // none\n  x}')).toEqual([
      'meanwhile.json:3:3: not valid JSON: expected a key in double quotes',
    ]);
  });

  it('X-4: a missing config file is reported with the flag or variable that names it', async () => {
    const path = join(cwd, 'no.json');
    const missing = (flags: ConfigFlags, env: Environment) => loadConfig({ flags, env, cwd });
    await expect(missing({ config: 'no.json' }, {})).rejects.toThrow(
      `${path}: there is no such file (given by --config)`,
    );
    await expect(missing({}, { MEANWHILE_CONFIG: path })).rejects.toThrow(
      `${path}: there is no such file (given by MEANWHILE_CONFIG)`,
    );
    await expect(missing({ config: '.' }, {})).rejects.toThrow(/cannot be read: .*\(given by --config\)/);
  });

  it('X-4: mistakes in flags and variables name the flag or variable', async () => {
    expect(await mistakes({}, { port: 'eighty' })).toEqual(['--port: expected a number, got "eighty"']);
    expect(await mistakes({}, { port: '' })).toEqual(['--port: expected a number, got ""']);
    expect(await mistakes({}, {}, { MEANWHILE_PORT: '99999' })).toEqual([
      'MEANWHILE_PORT: expected at most 65535, got 99999',
    ]);
    expect(await mistakes({}, { 'log-level': 'x' })).toEqual([expect.stringMatching(/^--log-level: expected "debug"/)]);
    expect(await mistakes({}, { store: '' })).toEqual(['--store: must not be empty']);
  });
});

describe('secrets', () => {
  const SECRET = 'hunter2hunter2hunter2';

  it.each<[string, unknown]>([
    ['a header', server({ url: 'http://x', headers: { A: `${SECRET}\n` } })],
    ['a header of the wrong type', server({ url: 'http://x', headers: SECRET })],
    ['a variable', server({ command: 'x', env: [SECRET] })],
    ['the arguments', server({ command: 'x', args: SECRET })],
    ['a short token', settings({ auth: { tokens: { ann: SECRET.slice(0, 15) } } })],
    ['a token in place of a name', settings({ auth: { tokens: { [SECRET]: 'ann' } } })],
    ['the same token twice', settings({ auth: { tokens: { ann: SECRET, bob: SECRET } } })],
    ['the user of a URL', server({ url: `htp://ann:${SECRET}@x/` })],
    ['the query of a URL', server({ url: `htp://x/?token=${SECRET}` })],
    ['a filled-in variable', server({ url: '${SECRET}' })],
    ['broken JSON', `{"token": ${SECRET}}`],
  ])('X-4: a mistake is reported without the secret: %s', async (_what, file) => {
    const found = (await mistakes(file, {}, { SECRET })).join('\n');
    expect(found).not.toBe('');
    expect(found).not.toContain(SECRET.slice(0, 15));
  });

  it('X-4: the client secret of the gateway at an issuer is not shown, even if it is a number', async () => {
    const introspection = { clientId: 'a', clientSecret: 1234567890 };
    const issuers = [{ issuer: 'https://id.example.com', introspection }];
    expect(await mistakes(settings({ auth: { issuers } }))).toEqual([
      expect.stringMatching(/introspection\.clientSecret: expected a string, got a number$/),
    ]);
  });

  it('X-4: a URL is shown without its credentials', async () => {
    expect(await mistakes(server({ url: 'htp://ann:pw@x/y?k=v' }))).toEqual([
      expect.stringContaining('got "htp://***@x/y?…"'),
    ]);
  });
});
