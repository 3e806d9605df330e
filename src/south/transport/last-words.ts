const SHOWN_LINES = 5;
const SHOWN_CHARS = 500;

/** An error as programs end with it: `TypeError: …`, `requests.exceptions.ConnectionError: …`. */
const NAMES_ERROR = /^(?:Uncaught |Fatal )?(?:[\w$]+\.)*[\w$]*(?:Error|Exception)\b.*: /i;

/** What is wrong, of the lines that a program wrote to standard error before it ended; empty if it said nothing. */
export function lastWords(lines: readonly string[]): string {
  const telling = lines.filter(isTelling);
  const error = telling.findLastIndex((line) => NAMES_ERROR.test(line));
  if (error < 0) return telling.slice(-SHOWN_LINES).join(' | ').slice(-SHOWN_CHARS);
  // What is indented below it are fields of the error, and the errors that caused it.
  const words = telling.slice(error).filter((line, index) => index === 0 || !/^\s/.test(line));
  return words.slice(0, SHOWN_LINES).join(' | ').slice(0, SHOWN_CHARS);
}

/** Programs print what is wrong, and then where they were: the second says little to who has not written them. */
function isTelling(line: string): boolean {
  return !/^[\s{}[\](),;]*$|^\s+at |^\s*\^+\s*$|^Node\.js v\d/.test(line);
}
