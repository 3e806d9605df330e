import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { Failure } from '../failure.ts';
import { PLAIN } from '../terminal/style.ts';
import { readMetrics } from './metrics-text.ts';
import { readGateway } from './read-gateway.ts';
import { quantile, summarize } from './summary.ts';
import { view } from './view.ts';

const TEXT = `# TYPE meanwhile_calls counter
# HELP meanwhile_calls Tool calls that have ended.
meanwhile_calls_total{server="one",outcome="result"} 8
meanwhile_calls_total{server="one",outcome="tool_error"} 2
meanwhile_calls_open{server="one"} 3
meanwhile_calls_open{server="odd \\"\\\\name\\n"} 0
meanwhile_server_up{server="one"} 0
mcp_client_operation_duration_seconds_bucket{mcp_method_name="tools/call",error_type="",server="one",le="1.0"} 5
mcp_client_operation_duration_seconds_bucket{mcp_method_name="tools/call",error_type="",server="one",le="2.0"} 10
mcp_client_operation_duration_seconds_bucket{mcp_method_name="tools/call",error_type="",server="one",le="+Inf"} 10
meanwhile_tasks{status="input_required"} 2
meanwhile_store_up 1
meanwhile_build_info{version="1.2.3"} 1
process_start_time_seconds 1794852534.193
process_resident_memory_bytes 1.5e+08
# EOF
`;

test('V-4: metrics in Prometheus text format are parsed', () => {
  const samples = readMetrics(TEXT) ?? [];
  expect(samples).toHaveLength(13);
  expect(samples[3]).toEqual({ name: 'meanwhile_calls_open', labels: { server: 'odd "\\name\n' }, value: 0 });
  expect(samples.at(-1)).toEqual({ name: 'process_resident_memory_bytes', labels: {}, value: 150_000_000 });
  expect(readMetrics('<html>not metrics</html>')).toBeUndefined();
  expect(readMetrics('')).toBeUndefined();
});

test('V-4: the summary of a server has its state, calls and times', () => {
  const { servers, tasks, version, calls } = summarize(readMetrics(TEXT) ?? []);
  expect(servers.find(({ name }) => name === 'one')).toEqual({
    name: 'one',
    up: false,
    connections: 0,
    openCalls: 3,
    calls: 10,
    failed: 2,
    medianSeconds: 1,
    slowestSeconds: expect.closeTo(1.9),
  });
  expect([tasks, version, calls.ended]).toEqual([{ input_required: 2 }, '1.2.3', { result: 8, tool_error: 2 }]);
});

test('V-4: quantiles are estimated from histogram buckets', () => {
  const bucket = (le: string, value: number) => ({ name: 'x_bucket', labels: { le }, value });
  expect(quantile(0.5, [])).toBeNull();
  expect(quantile(0.5, [bucket('1', 0), bucket('+Inf', 0)])).toBeNull();
  expect(quantile(0.5, [bucket('1', 2), bucket('+Inf', 2)])).toBe(0.5);
  // Series of the same metric are added up.
  expect(
    quantile(0.5, [
      bucket('1', 1),
      bucket('2', 1),
      bucket('+Inf', 1),
      bucket('1', 0),
      bucket('2', 1),
      bucket('+Inf', 1),
    ]),
  ).toBe(1);
  // What is longer than the last bound is only known to be so.
  expect(quantile(0.9, [bucket('1', 1), bucket('+Inf', 10)])).toBe(1);
});

test('V-4: the view fits the terminal and shows no control characters', () => {
  const summary = summarize(readMetrics(TEXT) ?? []);
  const lines = view(summary, { where: 'http://h:1', style: PLAIN, columns: 60 });
  expect(lines.every((line) => line.length <= 60)).toBe(true);
  expect(lines.join('\n')).toContain('odd "\\name');
  expect(lines.find((line) => line.startsWith('one'))).toMatch(/^one +NO +0 +3 +10 +2 +1\.0 s +1/);
  expect(view(summary, { where: '', style: PLAIN, columns: 80, rows: 12 }).join('\n')).toContain('and 1 more');
});

test('V-4: a response that breaks off is a failure, and rates count from zero after a restart of the gateway', async () => {
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-length': '1000' }).write('# TYPE', () => res.destroy());
  }).listen(0, '127.0.0.1');
  defer(async () => void server.close());
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(readGateway({ base, token: undefined })).rejects.toThrow(Failure);
  const summary = summarize(readMetrics(TEXT) ?? []);
  const rates = { seconds: 1, before: { ...summary, cpuSeconds: summary.cpuSeconds + 5 } };
  expect(view(summary, { where: '', style: PLAIN, columns: 80, rates })[0]).toContain('cpu 0 %');
});
