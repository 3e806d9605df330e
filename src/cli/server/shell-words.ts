/** Words as a shell reads and writes them. No variables, no wildcards: only what quotes and backslashes say. */

/** One word a match: quoted, double-quoted and bare pieces in a row. */
const WORD = /(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+/gsu;
const PIECE = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)/gsu;

/** `undefined` when a quote is not closed, or a backslash has nothing after it. */
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

/** The word as it has to be written so that a shell reads it as it is. */
export function quoteWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
