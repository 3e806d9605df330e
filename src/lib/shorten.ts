/** How much of a text that a client or a server chose goes into an error message or a log line. */
const MAX_MESSAGE = 4096;

/** The approximate size of a number, a key or an object besides its text. */
const OVERHEAD = 8;

/** A text for people, no longer than `limit`, with the number of characters that were cut off. */
export function shortenText(text: string, limit = MAX_MESSAGE): string {
  if (text.length <= limit) return text;
  return `${copyOf(text.slice(0, limit))}… (${text.length - limit} more characters)`;
}

/** A part of a string keeps the whole string in memory; a copy does not. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** A JSON value of about `limit` bytes: long texts are cut, and members that do not fit are left out. */
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
