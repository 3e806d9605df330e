import { expect, test } from 'vitest';
import { traceSettings } from './settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test('V-2: without an endpoint there are no traces', () => {
  expect(traceSettings({})).toEqual({ settings: undefined, warnings: [] });
  expect(traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }).settings).toBeUndefined();
  expect(traceSettings({ ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }).settings).toBeUndefined();
  expect(traceSettings({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }).settings).toBeUndefined();
});

test.each([
  [ENDPOINT, 'http://127.0.0.1:4318/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.example/otel/' }, 'https://c.example/otel/v1/traces'],
  [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t.example/in' }, 'http://t.example/in'],
])('V-2: the URL for spans with %o', (env, url) => {
  expect(traceSettings(env).settings?.url.href).toBe(url);
});

test('V-2: headers, service name and attributes come from the environment variables', () => {
  const { settings, warnings } = traceSettings({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc%3D%3D, x-a=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-a=2',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment=a%2Cb',
    OTEL_SERVICE_NAME: 'gateway',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    OTEL_BSP_MAX_QUEUE_SIZE: '20',
  });
  expect(settings).toMatchObject({
    headers: { authorization: 'Basic abc==', 'x-a': '2' },
    resource: { 'service.name': 'gateway', 'deployment.environment': 'a,b' },
    timeoutMs: 2000,
    delayMs: 100,
    batchSize: 10,
    queueSize: 20,
  });
  expect(warnings).toEqual([]);
  expect(traceSettings(ENDPOINT).settings?.resource).toEqual({ 'service.name': 'meanwhile' });
});

const LOW = `${'0'.repeat(31)}1`;
const HIGH = 'f'.repeat(32);

test.each([
  ['', undefined, [true, true, true, false]],
  ['always_on', undefined, [true, true, true, true]],
  ['always_off', undefined, [false, false, false, false]],
  ['traceidratio', '0.5', [false, true, false, true]],
  ['traceidratio', '0', [false, false, false, false]],
  ['traceidratio', '1', [true, true, true, true]],
  ['parentbased_always_off', undefined, [false, false, true, false]],
  ['parentbased_traceidratio', '0.5', [false, true, true, false]],
])('V-2: the decisions of the sampler %s %s', (name, arg, expected) => {
  const { settings, warnings } = traceSettings({
    ...ENDPOINT,
    OTEL_TRACES_SAMPLER: name,
    OTEL_TRACES_SAMPLER_ARG: arg,
  });
  const sampler = settings?.sampler;
  const decisions = [
    sampler?.(LOW, undefined),
    sampler?.(HIGH, undefined),
    sampler?.(LOW, true),
    sampler?.(HIGH, false),
  ];
  expect(decisions).toEqual(expected);
  expect(warnings).toEqual([]);
});

test.each([
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'user:secret@host' },
    /^OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL such as .*not sent$/,
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://secret@host' }, /^OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL/],
  [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /^OTEL_TRACES_SAMPLER: .*parentbased_always_on is used$/],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    /^OTEL_TRACES_SAMPLER_ARG: .* 1 is used$/,
  ],
  [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'no-secret' }, /^OTEL_EXPORTER_OTLP_HEADERS: expected key=value/],
  [
    { ...ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: 'soon' },
    /^OTEL_BSP_SCHEDULE_DELAY: expected a whole number; 5000 is used$/,
  ],
  [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /http\/json, not grpc/],
])('V-2: an invalid setting gives a warning without secrets, and nothing fails: %o', (env, message) => {
  const { settings, warnings } = traceSettings(env);
  expect(warnings).toEqual([expect.stringMatching(message)]);
  expect(warnings.join()).not.toContain('secret');
  expect(settings === undefined).toBe(
    !('OTEL_EXPORTER_OTLP_ENDPOINT' in env) || env.OTEL_EXPORTER_OTLP_ENDPOINT !== ENDPOINT.OTEL_EXPORTER_OTLP_ENDPOINT,
  );
});
