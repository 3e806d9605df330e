import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { settingsReference } from '../../scripts/settings-reference.ts';
import type { JsonSchemaNode } from '../lib/schema/kinds.ts';
import { configJsonSchema, fileSchema } from './schema.ts';

describe('the schema', () => {
  it('T-2: has a default for every setting', () => {
    expect(fileSchema.parse({})).toEqual({
      mcpServers: {},
      meanwhile: {
        host: '127.0.0.1',
        port: 8080,
        logFormat: 'auto',
        auth: {
          tokens: {},
          operators: [],
          issuers: [],
          scopes: { use: 'mcp:use', answer: 'mcp:answer', operate: 'mcp:operate' },
        },
        allowedHosts: [],
        allowedOrigins: [],
        allowCommands: false,
        addServers: 'anyone',
        addServerAddresses: 'any',
        allowServerChanges: true,
        calls: { timeoutMs: 50_000, onCancel: 'auto' },
        tasks: {
          ttlMs: 300_000,
          maxTtlMs: 1_800_000,
          keepMs: 300_000,
          cleanupMs: 60_000,
          perSession: 100,
          max: 10_000,
        },
        questions: { timeoutMs: 600_000, perSession: 100, via: 'both', minDeclineMs: 500 },
        answers: [],
        answersDryRun: false,
        models: {},
        direct: { taskAfterMs: 2000, takeOverMs: 60_000 },
        all: { listTimeoutMs: 5000, listBytes: 4_194_304, maxNameLength: 48, helperTools: 'auto' },
        groups: {},
        rules: [],
        cluster: { leaseMs: 10_000, drainMs: 5000 },
        sessions: { idleMs: 1_800_000, checkMs: 300_000, max: 1000 },
        events: { perSession: 1000, total: 100_000, notificationsPerServer: 100, logsPerServer: 500 },
        history: { keepMs: 86_400_000, bytes: 67_108_864, callsPerSecond: 25, entryBytes: 65_536 },
        servers: {
          connect: { commands: 'lazy', urls: 'eager' },
          connectTimeoutMs: 30_000,
          pingMs: 30_000,
          pollTimeoutMs: 30_000,
          reconnect: { firstMs: 1000, factor: 2, maxMs: 60_000, attempts: 10, stableMs: 10_000 },
        },
        limits: {
          bodyBytes: 4_194_304,
          messageBytes: 16_777_216,
          resultBytes: 16_777_216,
          entryBytes: 65_536,
          questionBytes: 4_194_304,
          sessionBytes: 33_554_432,
          totalBytes: 134_217_728,
          storeBytes: 1_073_741_824,
          waitMs: 1_800_000,
          requestsPerSession: 1000,
          requests: 10_000,
          principalShare: 0.5,
          subscriptionsPerServer: 1000,
          serversPerPrincipal: 50,
        },
      },
    });
  });

  it('S-3: with tokens, clients may not change servers of the config file by default', () => {
    const allowed = (settings: object): boolean =>
      fileSchema.parse({ meanwhile: settings }).meanwhile.allowServerChanges;
    const auth = { tokens: { ada: 'a-token-of-some-length' } };
    expect([allowed({ auth }), allowed({ auth, allowServerChanges: true })]).toEqual([false, true]);
    expect([allowed({}), allowed({ allowServerChanges: false })]).toEqual([true, false]);
  });

  it('X-2: with tokens, clients may add only servers at public addresses by default', () => {
    const addresses = (settings: object): unknown =>
      fileSchema.parse({ meanwhile: settings }).meanwhile.addServerAddresses;
    const auth = { tokens: { ada: 'a-token-of-some-length' } };
    expect([addresses({}), addresses({ auth })]).toEqual(['any', 'public']);
    expect(addresses({ auth, addServerAddresses: ['10.0.0.0/8'] })).toEqual(['10.0.0.0/8']);
    expect(() => addresses({ addServerAddresses: ['example.org'] })).toThrow('10.0.0.0/8');
  });

  it('schema/config.schema.json is current (node --import tsx scripts/config-schema.ts)', async () => {
    const committed = await readFile(new URL('../../schema/config.schema.json', import.meta.url), 'utf8');
    expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it('has a description for every key', () => {
    const silent: string[] = [];
    const visit = (node: JsonSchemaNode, path: string): void => {
      for (const [key, child] of Object.entries(node.properties ?? {})) {
        if (!child.description) silent.push(`${path}${key}`);
        visit(child, `${path}${key}.`);
      }
      if (typeof node.additionalProperties === 'object') visit(node.additionalProperties, `${path}*.`);
      for (const option of node.anyOf ?? []) visit(option, path);
    };
    visit(configJsonSchema(), '');
    expect(silent).toEqual([]);
  });

  it('X-3: every number has a range that fits timers', () => {
    const numbers = settingsReference().filter(({ type }) => type === 'integer' || type === 'number');
    expect(numbers.length).toBeGreaterThan(20);
    for (const { key, minimum, maximum } of numbers) {
      expect(minimum, key).toBeGreaterThanOrEqual(0);
      expect(maximum, key).toBeLessThanOrEqual(2_147_483_647);
    }
  });

  it('lists the settings for the reference', () => {
    const rows = settingsReference();
    expect(rows.find(({ key }) => key === 'tasks.ttlMs')).toEqual({
      key: 'tasks.ttlMs',
      type: 'integer',
      default: 300_000,
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'How long a task may run, unless the client requests a TTL.',
    });
    expect(rows.map(({ key }) => key)).toContain('servers.reconnect.factor');
  });
});
