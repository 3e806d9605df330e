import { isDeepStrictEqual } from 'node:util';
import type { Exchange, Trace } from './trace.ts';
import type { Said } from './wire-client.ts';

const LONGEST = 120;

/** Every field in which two traces differ, as a line of its own: `step › field: this, but that`. */
export function differing(expected: Trace, got: Trace, scopes: boolean): string[] {
  const steps = new Set([...Object.keys(expected), ...Object.keys(got)]);
  return [...steps].flatMap((step) => {
    const fields = compare(plain(expected[step], scopes), plain(got[step], scopes), []);
    return fields.map(({ path, left, right }) => `${step} › ${path.join('.')}: ${show(left)}, but ${show(right)}`);
  });
}

interface Field {
  path: string[];
  left: unknown;
  right: unknown;
}

function compare(left: unknown, right: unknown, path: string[]): Field[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (!isContainer(left) || !isContainer(right) || Array.isArray(left) !== Array.isArray(right)) {
    return [{ path, left, right }];
  }
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].flatMap((key) => compare(own(left, key), own(right, key), [...path, key]));
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function own(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function show(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** Streams run beside each other, so only the order within each, and of each kind, means something. */
function plain(exchange: Exchange | undefined, scopes: boolean): unknown {
  if (exchange === undefined) return undefined;
  const said: Record<string, unknown[]> = {};
  for (const one of exchange.said) {
    const kind = kindOf(one, scopes);
    said[kind] = [...(said[kind] ?? []), one.message];
  }
  return { ...exchange, said };
}

function kindOf({ scope, message }: Said, scopes: boolean): string {
  return `${String(message['method'])}${scopes ? ` (${scope})` : ''}`;
}
