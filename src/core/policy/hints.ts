/** The annotations of a tool, with the defaults of the MCP specification for missing ones. */

import { isObject } from '../../lib/values.ts';

export const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

export type Hint = (typeof HINTS)[number];

export type Hints = Readonly<Record<Hint, boolean>>;

/** By default a tool modifies its environment, may be destructive, and reaches the outside world. */
export function hintsOf(annotations: unknown): Hints {
  const given = isObject(annotations) ? annotations : {};
  const hint = (name: Hint, otherwise: boolean): boolean => {
    const value = given[name];
    return typeof value === 'boolean' ? value : otherwise;
  };
  const readOnlyHint = hint('readOnlyHint', false);
  return {
    readOnlyHint,
    // A read-only tool is not destructive unless it says so.
    destructiveHint: hint('destructiveHint', !readOnlyHint),
    idempotentHint: hint('idempotentHint', false),
    openWorldHint: hint('openWorldHint', true),
  };
}
