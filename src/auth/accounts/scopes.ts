/** The scopes in a space-separated list. */
export const scopesIn = (text: string | undefined): string[] => [
  ...new Set((text ?? '').split(/\s+/).filter((scope) => scope !== '')),
];

export const mergeScopes = (...lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())];

export const includesAll = (scopes: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((scope) => scopes.includes(scope));
