const WORD_BITS = 32;

/** Whether the text contains `*` or `?`; otherwise it matches only itself. */
export const isGlob = (text: string): boolean => /[*?]/.test(text);

/** For searching: like `compileGlob`, but a pattern without `*` and `?` matches anywhere in the name. */
export function compilePattern(pattern: string): (name: string) => boolean {
  return compileGlob(isGlob(pattern) ? pattern : `*${pattern}*`);
}

/**
 * Compiles a pattern with `*` (anything) and `?` (one character) that matches the whole name, by default ignoring case. Matching
 * reads each character of the name once: all positions in the pattern that the name read so far can have reached are
 * kept as a set of bits, so no pattern and no name can make it slow.
 */
export function compileGlob(pattern: string, { matchCase = false } = {}): (name: string) => boolean {
  const wanted = matchCase ? pattern : pattern.toLowerCase();
  const words = Math.floor(wanted.replaceAll('*', '').length / WORD_BITS) + 1;
  const set = (bits: Int32Array, index: number): void => {
    bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31));
  };
  // Bit i of `stays`: a `*` follows the first i tokens. Bit i of `anything`: token i is a `?`.
  const stays = new Int32Array(words);
  const anything = new Int32Array(words);
  const moves = new Map<string, Int32Array>();
  let index = 0;
  for (const each of wanted.split('')) {
    if (each === '*') {
      set(stays, index);
      continue;
    }
    if (each === '?') set(anything, index);
    else {
      const bits = moves.get(each) ?? new Int32Array(words);
      set(bits, index);
      moves.set(each, bits);
    }
    index += 1;
  }
  const none = new Int32Array(words);
  return (name) => {
    const text = matchCase ? name : name.toLowerCase();
    const reached = new Int32Array(words);
    reached[0] = 1;
    for (let at = 0; at < text.length; at += 1) {
      const matching = moves.get(text[at] ?? '') ?? none;
      let carry = 0;
      for (let word = 0; word < words; word += 1) {
        const now = reached[word] ?? 0;
        const moving = now & ((matching[word] ?? 0) | (anything[word] ?? 0));
        reached[word] = (now & (stays[word] ?? 0)) | (moving << 1) | carry;
        carry = moving >>> 31;
      }
    }
    return ((reached[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
  };
}

/** Patterns of the names to show, and of those to hide. */
export interface NamePatterns {
  include?: readonly string[] | undefined;
  exclude?: readonly string[] | undefined;
}

export interface Selection {
  /** Whether the name matches an `include` pattern, or there are none, and no `exclude` pattern. */
  selects: (name: string) => boolean;
  /** The patterns that match none of the names. */
  unmatched: (names: readonly string[]) => string[];
}

export function selection({ include = [], exclude = [] }: NamePatterns): Selection {
  const compiled = (patterns: readonly string[]) =>
    patterns.map((pattern) => ({ pattern, matches: compileGlob(pattern) }));
  const included = compiled(include);
  const excluded = compiled(exclude);
  return {
    selects: (name) =>
      (included.length === 0 || included.some(({ matches }) => matches(name))) &&
      !excluded.some(({ matches }) => matches(name)),
    unmatched: (names) =>
      [...included, ...excluded].filter(({ matches }) => !names.some(matches)).map(({ pattern }) => pattern),
  };
}
