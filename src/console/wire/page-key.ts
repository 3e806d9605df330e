/**
 * The key that makes the cookie valid. Browsers send cookies to every port of a host; this storage belongs to the origin of the page,
 * port included, and all windows of the page share it.
 */

import { isObject } from '../../lib/values.ts';

const NAME = 'meanwhile.pageKey';

/** The key of this window: with it, the gateway refuses requests after another window has signed in as another person. */
let current: string | undefined;

export const pageKey = (): string | undefined => current;

export function pageKeyHeader(): Record<string, string> {
  return current === undefined ? {} : { 'Meanwhile-Console': current };
}

/** Another window has signed in as another person. */
export function isPageKeyOld(): boolean {
  const found = stored();
  return found !== undefined && found !== current;
}

/** From now on this window belongs to the person who signed in last. */
export function adoptPageKey(): void {
  current = stored() ?? current;
}

export function keepPageKey(signedIn: unknown): void {
  if (!isObject(signedIn) || typeof signedIn['pageKey'] !== 'string') return;
  current = signedIn['pageKey'];
  try {
    localStorage.setItem(NAME, current);
  } catch {
    // Not allowed, or full: it lasts as long as the window.
  }
}

export function forgetPageKey(): void {
  current = undefined;
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
