import { expect, test, vi } from 'vitest';
import { startCollector, type Collector } from '../../../tests/support/collector.ts';
import { createLog } from '../../lib/log.ts';
import { SpanExporter } from './exporter.ts';
import { traceSettings } from './settings.ts';
import { newSpanId, newTraceId, type Span } from './span.ts';

interface Setup {
  collector: Collector;
  exporter: SpanExporter;
  logged: () => string[];
}

async function setup(env: Record<string, string> = {}, url?: string): Promise<Setup> {
  const collector = await startCollector();
  const { settings } = traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url ?? collector.url, ...env });
  if (settings === undefined) throw new Error('no settings');
  const lines: string[] = [];
  const log = createLog('debug', (line) => lines.push(line));
  const logged = (): string[] => lines.map((line) => (JSON.parse(line) as { event: string }).event);
  return { collector, exporter: new SpanExporter(settings, log), logged };
}

function span(name: string): Span {
  const now = Date.now();
  const attributes = { 'mcp.method.name': 'tools/call', 'server.port': 80, absent: undefined };
  const parts = { parentId: undefined, link: undefined, failed: false, kind: 'server' as const };
  return { traceId: newTraceId(), spanId: newSpanId(), name, start: now, end: now + 1, attributes, ...parts };
}

const QUICK = { OTEL_BSP_SCHEDULE_DELAY: '20' };

test('V-2: spans are sent in batches with the configured headers', async () => {
  const { collector, exporter } = await setup({ ...QUICK, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret' });
  for (const name of ['one', 'two', 'three']) exporter.add(span(name));
  await vi.waitFor(() => expect(collector.spans.map(({ name }) => name)).toEqual(['one', 'two', 'three']));
  expect(collector.requests).toHaveLength(1);
  expect(collector.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'x-key': 'secret', 'content-type': 'application/json' },
  });
  expect(collector.spans[0]).toMatchObject({
    attributes: { 'mcp.method.name': 'tools/call', 'server.port': 80 },
    resource: { 'service.name': 'meanwhile' },
  });
  expect(collector.mistakes).toEqual([]);
  await exporter.close();
});

test('V-2: a full batch is sent at once', async () => {
  const { collector, exporter } = await setup({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2' });
  for (const name of ['one', 'two', 'three']) exporter.add(span(name));
  await vi.waitFor(() => expect(collector.spans).toHaveLength(2));
  await exporter.close();
  expect(collector.spans.map(({ name }) => name)).toEqual(['one', 'two', 'three']);
});

test('V-2: spans are kept while the collector is overloaded, which is logged once', async () => {
  const { collector, exporter, logged } = await setup(QUICK);
  collector.statuses.push(503, 429, 502);
  exporter.add(span('one'));
  await vi.waitFor(() => expect(collector.spans).toHaveLength(1), { timeout: 5000 });
  expect(collector.requests).toHaveLength(4);
  // The exporter logs once it has the response of the collector.
  await exporter.close();
  expect(logged()).toEqual(['spans_not_exported', 'spans_exported_again']);
});

test('V-2: spans that the collector refuses are dropped', async () => {
  const { collector, exporter, logged } = await setup(QUICK);
  collector.statuses.push(400);
  exporter.add(span('bad'));
  await vi.waitFor(() => expect(logged()).toEqual(['spans_not_exported']));
  exporter.add(span('good'));
  await vi.waitFor(() => expect(collector.spans.map(({ name }) => name)).toEqual(['good']));
  await exporter.close();
});

test('V-2: redirects are not followed', async () => {
  const { collector, exporter, logged } = await setup(QUICK);
  collector.statuses.push(307);
  exporter.add(span('one'));
  await vi.waitFor(() => expect(logged()).toEqual(['spans_not_exported']));
  expect(collector.requests).toHaveLength(1);
  await exporter.close();
});

test('V-2: the queue of spans is limited', async () => {
  const { collector, exporter, logged } = await setup({ OTEL_BSP_MAX_QUEUE_SIZE: '5' });
  for (let index = 0; index < 9; index += 1) exporter.add(span(String(index)));
  await exporter.close();
  expect(collector.spans.map(({ name }) => name)).toEqual(['0', '1', '2', '3', '4']);
  expect(logged()).toEqual(['span_queue_full', 'spans_exported_again']);
});

test('V-2: closing does not wait for a collector that does not respond or is unreachable', async () => {
  const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '3600000' };
  const silent = await setup(patient);
  silent.collector.statuses.push('silence');
  silent.exporter.add(span('one'));
  const away = await setup(patient, 'http://127.0.0.1:9');
  away.exporter.add(span('one'));
  await Promise.all([silent.exporter.close(), away.exporter.close()]);
  expect(silent.logged()).toEqual(['spans_dropped']);
  expect(away.logged()).toEqual(['spans_not_exported', 'spans_dropped']);
});
