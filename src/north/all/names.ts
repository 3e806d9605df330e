/** The names under which tools and prompts of several servers are shown together. */

import { createHash } from 'node:crypto';

const SEPARATOR = '__';
const HASH_LENGTH = 10;
/** The suffix of shortened names. Other names with such a suffix are hashed too, to avoid collisions. */
const HASHED = new RegExp(`_[0-9a-f]{${HASH_LENGTH}}$`);

export interface Naming {
  /** Whether names are prefixed with the server name. */
  prefix: boolean;
  maxLength: number;
}

/**
 * The shown name depends only on the server and the tool, because clients may store it. Names that
 * model APIs would reject are shortened and get a hash of the whole.
 */
export function shownName(server: string, name: string, { prefix, maxLength }: Naming): string {
  const whole = prefix ? `${server}${SEPARATOR}${name}` : name;
  const canStay = isAccepted(whole, maxLength) && !HASHED.test(whole) && (!prefix || isUnambiguous(server));
  if (canStay) return whole;
  const hash = createHash('sha256').update(`${server}\0${name}`).digest('hex').slice(0, HASH_LENGTH);
  const start = whole.slice(0, maxLength - HASH_LENGTH - 1).replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return `${start}_${hash}`;
}

/** The server and the tool of a shown name, if the name contains them; other names must be looked up in the lists. */
export function splitName(shown: string, naming: Naming): { server: string; name: string } | undefined {
  const end = naming.prefix ? shown.indexOf(SEPARATOR) : -1;
  if (end <= 0) return undefined;
  const parts = { server: shown.slice(0, end), name: shown.slice(end + SEPARATOR.length) };
  return shownName(parts.server, parts.name, naming) === shown ? parts : undefined;
}

function isAccepted(name: string, maxLength: number): boolean {
  return name.length > 0 && name.length <= maxLength && /^[A-Za-z0-9_-]+$/.test(name);
}

/** Whether the first separator of a name is the one behind the server. */
function isUnambiguous(server: string): boolean {
  return !server.includes(SEPARATOR) && !server.endsWith('_');
}
