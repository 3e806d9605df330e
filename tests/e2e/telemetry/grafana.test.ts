import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { parseOpenMetrics } from '../../support/openmetrics.ts';
import { ROOT } from '../../support/imports.ts';
import { send } from '../../support/raw-http.ts';

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

interface Dashboard {
  title: string;
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
}

const SUFFIXES: Record<string, readonly string[]> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
  info: ['_info'],
};

async function dashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile(`${ROOT}/deploy/grafana.json`, 'utf8')) as Dashboard;
}

/** Names of metrics in an expression: all other words are functions, labels, or texts. */
function metricsIn(expression: string): string[] {
  const withoutTexts = expression.replaceAll(/"[^"]*"/g, '""').replaceAll(/\b(?:by|without) \([^)]*\)/g, '');
  return withoutTexts.match(/\b(?:meanwhile|mcp|process|nodejs)_\w+\b(?!\s*[=!])/g) ?? [];
}

test('V-3: the dashboard uses exactly the existing metrics', async () => {
  const { url } = await httpGateway({});
  const { text } = await send(url.replace(/\/mcp$/, '/metrics'), { method: 'GET', headers: {} });
  const families = [...parseOpenMetrics(text).values()];
  const samples = new Set(
    families.flatMap(({ name, type }) => (SUFFIXES[type] ?? []).map((suffix) => `${name}${suffix}`)),
  );
  const { panels, templating } = await dashboard();
  const expressions = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...templating.list.flatMap(({ definition }) => definition ?? []),
  ];
  const named = new Set(expressions.flatMap(metricsIn));
  expect([...named].filter((name) => !samples.has(name))).toEqual([]);
  const isShown = (name: string): boolean => [...named].some((each) => each.startsWith(name));
  const unshown = families.filter(({ name }) => !isShown(name)).map(({ name }) => name);
  expect(unshown).toEqual(['process_start_time_seconds']);
});

test('V-3: the dashboard is valid: unique ids, no overlapping panels, balanced expressions', async () => {
  const { title, panels, templating } = await dashboard();
  expect(title).toBe('Meanwhile');
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  const variables = new Set(['__rate_interval', ...templating.list.map(({ name }) => name)]);
  for (const { type, title: of, targets = [] } of panels) {
    if (type !== 'row') expect(targets.length, of).toBeGreaterThan(0);
    for (const { expr } of targets) {
      const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name = '']) => name);
      expect(used.filter((name) => !variables.has(name))).toEqual([]);
      for (const [open, close] of ['()', '{}', '[]']) {
        expect(expr.split(open as string).length, expr).toBe(expr.split(close as string).length);
      }
    }
  }
});

test('V-1: the documentation lists every metric', async () => {
  const { url } = await httpGateway({});
  const { text } = await send(url.replace(/\/mcp$/, '/metrics'), { method: 'GET', headers: {} });
  const page = await readFile(`${ROOT}/docs/OBSERVABILITY.md`, 'utf8');
  const documented = [...page.matchAll(/^\| `((?:meanwhile|mcp|process|nodejs)_\w+)` \| (\w+) \|/gm)];
  const suffixes: Record<string, string> = { counter: '_total', info: '_info' };
  const families = [...parseOpenMetrics(text).values()];
  expect(documented.map(([, name, type]) => `${name} ${type}`).toSorted()).toEqual(
    families.map(({ name, type }) => `${name}${suffixes[type] ?? ''} ${type}`).toSorted(),
  );
});
