import { expect, test } from 'vitest';
import { parseOpenMetrics, valueOf } from '../../../tests/support/openmetrics.ts';
import { expose, Histogram, Scalar } from './exposition.ts';

const counter = (...labels: string[]): Scalar =>
  new Scalar('calls', 'Calls "of" a\\b\nc.', { type: 'counter', labels });

test('V-1: counters, gauges, histograms and info metrics are written in OpenMetrics format', () => {
  const text = expose([
    counter('server').add(1, 'one').add(2, 'one').add(1, 'two'),
    new Scalar('sessions', 'Sessions.', { type: 'gauge' }).add(3),
    new Scalar('build', 'The version.', { type: 'info', labels: ['version'] }).add(1, '1.2.3'),
    new Scalar('memory_bytes', 'Memory.', { type: 'gauge', unit: 'bytes' }).add(5),
  ]);
  expect(text).toBe(`# TYPE calls counter
# HELP calls Calls \\"of\\" a\\\\b\\nc.
calls_total{server="one"} 3
calls_total{server="two"} 1
# TYPE sessions gauge
# HELP sessions Sessions.
sessions 3
# TYPE build info
# HELP build The version.
build_info{version="1.2.3"} 1
# TYPE memory_bytes gauge
# UNIT memory_bytes bytes
# HELP memory_bytes Memory.
memory_bytes 5
# EOF
`);
  expect(() => parseOpenMetrics(text)).not.toThrow();
});

test('V-1: a histogram counts each value in its bucket and in all larger buckets', () => {
  const histogram = new Histogram('wait_seconds', 'Waiting.', [0.1, 1, 10], ['kind']);
  for (const seconds of [0.05, 0.1, 0.5, 10, 11, -1]) histogram.observe(seconds, 'a');
  expect(histogram.lines()).toEqual([
    'wait_seconds_bucket{kind="a",le="0.1"} 3',
    'wait_seconds_bucket{kind="a",le="1.0"} 4',
    'wait_seconds_bucket{kind="a",le="10.0"} 5',
    'wait_seconds_bucket{kind="a",le="+Inf"} 6',
    'wait_seconds_count{kind="a"} 6',
    'wait_seconds_sum{kind="a"} 21.65',
  ]);
});

test('V-1: any text can be the value of a label', () => {
  const odd = 'a"b\\c\nd{e},f="g"';
  const families = parseOpenMetrics(expose([counter('server', 'other').add(1, odd, '')]));
  expect(families.get('calls')?.samples).toEqual([
    { name: 'calls_total', labels: { server: odd, other: '' }, value: 1 },
  ]);
});

test('V-1: the number of label values is limited', () => {
  const calls = counter('server');
  for (let index = 0; index < 10_000; index += 1) calls.add(1, String(index));
  const families = parseOpenMetrics(expose([calls]));
  expect(families.get('calls')?.samples).toHaveLength(2000);
  expect(valueOf(families, 'calls_total', { server: '7' })).toBe(1);
});
