import type { Gateway } from '../../core/gateway.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

/** A server could have any number of problems. */
const MAX_REPORTS = 1000;

const reported = new WeakMap<Gateway, Set<string>>();

/** Logs a problem of a server or of the configuration once, however many clients meet it. */
export function reportOnce(gateway: Gateway, event: string, about: Record<string, string>): void {
  const known = reported.get(gateway) ?? new Set();
  reported.set(gateway, known);
  const problem = stringifyExact([event, about]);
  if (known.has(problem) || known.size >= MAX_REPORTS) return;
  known.add(problem);
  gateway.log.warn(event, about);
}
