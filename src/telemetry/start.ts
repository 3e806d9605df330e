/** The only file of this folder that the rest of the program loads, and only when metrics are wanted. */

import type { Gateway } from '../core/gateway.ts';
import type { Observed } from '../core/observer.ts';
import { CONTENT_TYPE } from './metrics/exposition.ts';
import { Metrics } from './metrics/metrics.ts';
import { Telemetry } from './telemetry.ts';

/** Metrics as text; counting begins with the first call. */
export function metricsText(
  gateway: Gateway,
  servers: ReadonlyMap<string, unknown>,
): { contentType: string; text: string } {
  const telemetry = telemetryOf(gateway.observed);
  telemetry.metrics ??= new Metrics(gateway, new Set(servers.keys()));
  return { contentType: CONTENT_TYPE, text: telemetry.metrics.expose() };
}

function telemetryOf(observed: Observed): Telemetry {
  const telemetry = observed.observer instanceof Telemetry ? observed.observer : new Telemetry();
  observed.observer = telemetry;
  return telemetry;
}
