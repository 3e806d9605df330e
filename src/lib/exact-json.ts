/**
 * JSON in which every integer arrives as it was sent. `JSON.parse` rounds those beyond 2^53 (9007199254740993 becomes
 * 9007199254740992), so here such a number becomes a `BigNumber`: a text that `stringifyExact` writes as a number again.
 * Messages without long numbers, which are almost all, pay only for the check. It also runs in a browser.
 */

/** An integer with more digits than a JavaScript number can hold. */
export type BigNumber = string & { readonly bigNumber: unique symbol };

/** Integers with fewer digits are exact. */
const MANY_DIGITS = 16;
const LONG_INTEGER = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/y;

/**
 * Random, so that no text of a client or server can pass for a number. It begins with a character beyond Latin-1: texts
 * without any such character, which are most, need not be searched for it.
 */
const MARK = `\u{E000}${crypto.getRandomValues(new BigUint64Array(1)).join('')}:`;
/** Only values: the key of an object stays a text. */
const MARKED = new RegExp(`"${MARK}(-?\\d+)"(?!:)`, 'g');

/** Throws as `JSON.parse` does. `parseInTurns` does the same in several turns of the event loop. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!hasManyDigits(text)) return value;
  const marked = [...markBigNumbers(text)].join('');
  return marked === text ? value : JSON.parse(marked);
}

export function stringifyExact(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return text?.includes(MARK) ? plainText(text.replaceAll(MARKED, '$1')) : text;
}

/** A text for people that may quote big numbers. */
export function plainText(text: string): string {
  return text.replaceAll(MARK, '');
}

export function isBigNumber(value: unknown): value is BigNumber {
  return typeof value === 'string' && value.startsWith(MARK);
}

/** Whether a value is a string other than a `BigNumber`. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !isBigNumber(value);
}

/** An integer, given by its digits: a JavaScript number if that is exact. */
export function exactNumber(digits: string): number | BigNumber {
  const value = Number(digits);
  return Number.isSafeInteger(value) || String(value) === digits ? value : (`${MARK}${digits}` as BigNumber);
}

/** The nearest JavaScript number; `undefined` if the value is not a number. */
export function nearestNumber(value: unknown): number | undefined {
  if (isBigNumber(value)) return Number(value.slice(MARK.length));
  return typeof value === 'number' ? value : undefined;
}

/** The JSON value with each big number replaced by the nearest JavaScript number. */
export function withNearestNumbers<T>(value: T): T {
  return JSON.stringify(value)?.includes(MARK) ? (JSON.parse(stringifyExact(value)) as T) : value;
}

/** Whether a text may contain integers that are not exact as JavaScript numbers. */
export function hasManyDigits(text: string): boolean {
  return nextLongRow(text, 0) !== undefined;
}

/** Where the next row of many digits is. Looks at every 16th character only: the row cannot avoid all of them. */
function nextLongRow(text: string, from: number): { start: number; end: number } | undefined {
  for (let at = from + MANY_DIGITS - 1; at < text.length; at += MANY_DIGITS) {
    if (!isDigit(text, at)) continue;
    let [start, end] = [at, at + 1];
    while (isDigit(text, start - 1)) start -= 1;
    while (isDigit(text, end)) end += 1;
    if (end - start >= MANY_DIGITS) return { start, end };
  }
  return undefined;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

/**
 * Marks the big numbers of valid JSON, but not digits inside its texts. Yields the marked JSON in parts, each made of at least `piece`
 * characters.
 */
export function* markBigNumbers(text: string, piece = Infinity): Generator<string> {
  let parts: string[] = [];
  let yielded = 0;
  let copied = 0;
  let isInText = false;
  let quote = nextQuote(text, 0);
  for (let row = nextLongRow(text, 0); row !== undefined;) {
    let at: number;
    if (quote < row.start) {
      if (!isEscaped(text, quote)) isInText = !isInText;
      at = quote + 1;
      quote = nextQuote(text, at);
    } else {
      at = row.end;
      const start = text[row.start - 1] === '-' ? row.start - 1 : row.start;
      if (!isInText && isLongInteger(text, start)) {
        parts.push(text.slice(copied, start), marked(text.slice(start, at)));
        copied = at;
      }
      row = nextLongRow(text, at);
    }
    if (at - yielded >= piece) {
      parts.push(text.slice(copied, at));
      yield parts.join('');
      parts = [];
      yielded = at;
      copied = at;
    }
  }
  parts.push(text.slice(copied));
  yield parts.join('');
}

function isLongInteger(text: string, at: number): boolean {
  LONG_INTEGER.lastIndex = at;
  return LONG_INTEGER.test(text);
}

function marked(digits: string): string {
  const number = exactNumber(digits);
  return typeof number === 'number' ? digits : `"${number}"`;
}

function nextQuote(text: string, from: number): number {
  const at = text.indexOf('"', from);
  return at < 0 ? Infinity : at;
}

function isEscaped(json: string, quote: number): boolean {
  let backslashes = 0;
  while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
