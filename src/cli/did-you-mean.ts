import { closest } from '../lib/closest.ts';
import { cleanLine } from '../lib/clean.ts';

/** A name with fewer letters is close to too many others. */
const SHORTEST = 3;

/** The end of a message about an unknown name: the known name that was probably meant, if there is one. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = name.length < SHORTEST ? undefined : closest(name, known.filter(isAsLongAs(name)));
  return near === undefined ? '' : `; did you mean '${near}'?`;
}

/** A name that is only a small part of another is not close to it. */
const isAsLongAs =
  (name: string) =>
  (other: string): boolean =>
    other.length <= name.length * 2 && name.length <= other.length * 2;

/** The server `label` lists no tool or prompt of this name. */
export function notListed(label: string, kind: string, name: string, listed: readonly { name?: unknown }[]): string {
  const names = listed.map((each) => cleanLine(each.name));
  const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
  return `${label} has no ${kind} '${name}'${didYouMean(name, names)}\n${known}`;
}
