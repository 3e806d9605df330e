import { closest } from '../lib/closest.ts';

/** In names of fewer letters everything is near everything. */
const SHORTEST = 3;

/** What follows a message about a name that nobody knows: the known one that was probably meant, if there is any. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = name.length < SHORTEST ? undefined : closest(name, known.filter(isAsLongAs(name)));
  return near === undefined ? '' : `; did you mean '${near}'?`;
}

/** A name that is only a small part of another is not near to it. */
const isAsLongAs =
  (name: string) =>
  (other: string): boolean =>
    other.length <= name.length * 2 && name.length <= other.length * 2;
