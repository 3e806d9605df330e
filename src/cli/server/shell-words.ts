/** Splits and quotes words like a shell: quotes and backslashes, but no variables or wildcards. */

/** Each match is one word of quoted, double-quoted and bare pieces. */
const WORD = /(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+/gsu;
const PIECE = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)/gsu;

/** `undefined` if a quote is not closed or a backslash is the last character. */
export function splitWords(text: string): string[] | undefined {
  const rest = text.replaceAll(WORD, '');
  if (rest.trim() !== '') return undefined;
  return (text.match(WORD) ?? []).map((word) =>
    word.replaceAll(PIECE, (_piece, single?: string, double?: string, escaped?: string, bare?: string) => {
      if (double !== undefined) return double.replaceAll(/\\([\\"$`])/g, '$1');
      return single ?? escaped ?? bare ?? '';
    }),
  );
}

/** Quotes a word for a shell, if needed. */
export function quoteWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
