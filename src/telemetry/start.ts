/** The only file of this folder that the rest of the program loads, and only when metrics or traces are wanted. */

import type { Gateway } from '../core/gateway.ts';
import type { Observed } from '../core/observer.ts';
import type { Log } from '../lib/log.ts';
import { CONTENT_TYPE } from './metrics/exposition.ts';
import { Metrics } from './metrics/metrics.ts';
import { Telemetry } from './telemetry.ts';
import { SpanExporter } from './traces/exporter.ts';
import { traceSettings } from './traces/settings.ts';
import { Tracer } from './traces/tracer.ts';

/** Metrics as text; counting begins with the first call. */
export async function metricsText(
  gateway: Gateway,
  servers: ReadonlyMap<string, unknown>,
): Promise<{ contentType: string; text: string }> {
  const telemetry = telemetryOf(gateway.observed);
  telemetry.metrics ??= new Metrics(gateway, new Set(servers.keys()));
  return { contentType: CONTENT_TYPE, text: await telemetry.metrics.expose() };
}

/** Begins to send spans, if the variables of OpenTelemetry say where to. Returns how to end that. */
export function startTraces(
  observed: Observed,
  env: Readonly<Record<string, string>>,
  log: Log,
): (() => Promise<void>) | undefined {
  const { settings, warnings } = traceSettings(env);
  for (const message of warnings) log.warn('config_warning', { message });
  if (settings === undefined) return undefined;
  const exporter = new SpanExporter(settings, log);
  telemetryOf(observed).tracer = new Tracer({ sampler: settings.sampler, export: (span) => exporter.add(span) });
  return async () => exporter.close();
}

function telemetryOf(observed: Observed): Telemetry {
  const telemetry = observed.observer instanceof Telemetry ? observed.observer : new Telemetry();
  observed.observer = telemetry;
  return telemetry;
}
