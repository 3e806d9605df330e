import type { Gateway } from '../../core/gateway.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

/** The limit per server, so that one server cannot hide the problems of others. */
const MAX_REPORTS = 100;

const reported = new WeakMap<Gateway, Map<string, Set<string>>>();

/** Logs a problem of a server or of the configuration once, however many clients encounter it. */
export function reportOnce(gateway: Gateway, event: string, about: Record<string, string>): void {
  const { server = '' } = about;
  const all = reported.get(gateway) ?? new Map<string, Set<string>>();
  reported.set(gateway, all);
  const known = all.get(server) ?? new Set();
  all.set(server, known);
  const problem = stringifyExact([event, about]);
  if (known.has(problem) || known.size >= MAX_REPORTS) return;
  known.add(problem);
  gateway.log.warn(event, about);
}
