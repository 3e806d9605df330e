/** Conditions on the identity behind a request, shared by access rules and quotas. */

import { compileGlob } from '../../lib/pattern.ts';
import { isObject } from '../../lib/values.ts';
import type { Identity, TokenFacts } from '../ports/identity.ts';

export interface WhomConditions {
  /** Patterns of principals; one of them must match. */
  principals?: readonly string[] | undefined;
  /** Scopes of the access token; it must have one of them. */
  scopes?: readonly string[] | undefined;
  /** Claims of the access token: each must have a value that one of the patterns matches. */
  claims?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

export type Whom = (identity: Identity) => boolean;

const asList = (one: string | readonly string[]): readonly string[] => (typeof one === 'string' ? [one] : one);

/** Names of principals, scopes and claims are case-sensitive. */
const anyOf = (patterns: readonly string[]): ((name: string) => boolean) => {
  const compiled = patterns.map((pattern) => compileGlob(pattern, { matchCase: true }));
  return (name) => compiled.some((matches) => matches(name));
};

export function compileWhom({ principals, scopes, claims = {} }: WhomConditions): Whom {
  const isNamed = principals && anyOf(principals);
  const wanted = Object.entries(claims).map(([claim, patterns]) => ({ claim, matches: anyOf(asList(patterns)) }));
  return ({ principal, facts }) =>
    (isNamed?.(principal) ?? true) &&
    (scopes === undefined || scopes.some((scope) => facts?.scopes.includes(scope))) &&
    wanted.every(({ claim, matches }) => facts?.claims[claim]?.some(matches));
}

/** Checks each condition of a rule separately, to report which one does not hold. */
export function unmetConditions(conditions: WhomConditions, identity: Identity): (keyof WhomConditions)[] {
  const { principals, scopes, claims } = conditions;
  return (['principals', 'scopes', 'claims'] as const).filter(
    (name) => !compileWhom({ [name]: { principals, scopes, claims }[name] })(identity),
  );
}

/** Extracts from a token only what the conditions name; `undefined` if it has nothing of that. */
export type FactReader = (
  claims: Readonly<Record<string, unknown>>,
  scopes: Iterable<string>,
) => TokenFacts | undefined;

/** `undefined` if no condition refers to tokens. */
export function factReader(all: readonly WhomConditions[]): FactReader | undefined {
  const scopes = new Set(all.flatMap((each) => each.scopes ?? []));
  const patterns = new Map<string, string[]>();
  for (const { claims = {} } of all) {
    for (const [claim, values] of Object.entries(claims)) {
      patterns.set(claim, [...(patterns.get(claim) ?? []), ...asList(values)]);
    }
  }
  if (scopes.size === 0 && patterns.size === 0) return undefined;
  const wanted = [...patterns].map(([claim, values]) => ({ claim, matches: anyOf(values) }));
  return (claims, granted) => {
    const held = [...new Set(granted)].filter((scope) => scopes.has(scope)).toSorted();
    const found = wanted.flatMap(({ claim, matches }): [string, string[]][] => {
      const values = [...new Set(valuesOf(claims, claim))].filter(matches).toSorted();
      return values.length === 0 ? [] : [[claim, values]];
    });
    if (held.length === 0 && found.length === 0) return undefined;
    return { scopes: held, claims: Object.fromEntries(found) };
  };
}

/** The values of a claim; for `realm_access.roles`, if no claim has that name, the `roles` in `realm_access`. */
function valuesOf(claims: Readonly<Record<string, unknown>>, name: string): string[] {
  let value: unknown = claims;
  if (Object.hasOwn(claims, name)) value = claims[name];
  else {
    for (const step of name.split('.')) value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return (Array.isArray(value) ? value : [value]).flatMap((each: unknown) =>
    typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean' ? [String(each)] : [],
  );
}

/** Whether two tokens have the same facts. */
export function sameFacts(one: TokenFacts | undefined, other: TokenFacts | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
