/** How much of a text that a client or a server chose goes into an error message or a log line. */
const MAX_MESSAGE = 4096;

/** What a number, a key or an object costs beside its text, roughly. */
const OVERHEAD = 8;

/** A text for people, no longer than `limit`; what is cut off is counted. */
export function shortenText(text: string, limit = MAX_MESSAGE): string {
  if (text.length <= limit) return text;
  return `${copyOf(text.slice(0, limit))}… (${text.length - limit} more characters)`;
}

/** A part of a string keeps the whole string in memory; a copy does not. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** A JSON value that takes about `limit` bytes: long texts are cut, and what comes after there is no more room is left out. */
export function shortenValue(value: unknown, limit: number): unknown {
  let left = limit;
  const cut = (each: unknown): unknown => {
    left -= OVERHEAD;
    if (typeof each === 'string') {
      const text = shortenText(each, Math.max(0, left));
      left -= text.length;
      return text;
    }
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) {
      const items: unknown[] = [];
      for (const item of each) {
        if (left <= 0) break;
        items.push(cut(item));
      }
      return items;
    }
    const members: [string, unknown][] = [];
    for (const [key, member] of Object.entries(each)) {
      if (left <= key.length) break;
      left -= key.length;
      members.push([key, cut(member)]);
    }
    return Object.fromEntries(members);
  };
  return cut(value);
}
