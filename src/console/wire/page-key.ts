/**
 * The key that makes the cookie valid. Browsers send cookies to every port of a host; this storage belongs to the origin of the page,
 * port included, and all windows of the page share it.
 */

import { isObject } from '../../lib/values.ts';

const NAME = 'meanwhile.pageKey';

/** Where the browser lets the page store nothing, the key lasts as long as the window. */
let inMemory: string | undefined;

export function pageKeyHeader(): Record<string, string> {
  const key = stored() ?? inMemory;
  return key === undefined ? {} : { 'Meanwhile-Console': key };
}

export function keepPageKey(signedIn: unknown): void {
  if (!isObject(signedIn) || typeof signedIn['pageKey'] !== 'string') return;
  inMemory = signedIn['pageKey'];
  try {
    localStorage.setItem(NAME, inMemory);
  } catch {
    // Not allowed, or full: it is in memory.
  }
}

export function forgetPageKey(): void {
  inMemory = undefined;
  try {
    localStorage.removeItem(NAME);
  } catch {
    // Then none was stored.
  }
}

function stored(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined;
  }
}
