const SHOWN_LINES = 5;
const SHOWN_CHARS = 500;

/** A final error line: `TypeError: …`, `requests.exceptions.ConnectionError: …`. */
const NAMES_ERROR = /^(?:Uncaught |Fatal )?(?:[\w$]+\.)*[\w$]*(?:Error|Exception)\b.*: /i;

/** The lines on standard error that say why a program ended; empty if there are none. */
export function lastWords(lines: readonly string[]): string {
  const telling = lines.filter(isTelling);
  const error = telling.findLastIndex((line) => NAMES_ERROR.test(line));
  if (error < 0) return telling.slice(-SHOWN_LINES).join(' | ').slice(-SHOWN_CHARS);
  // Indented lines below it are fields of the error and its causes.
  const words = telling.slice(error).filter((line, index) => index === 0 || !/^\s/.test(line));
  return words.slice(0, SHOWN_LINES).join(' | ').slice(0, SHOWN_CHARS);
}

/** Skips stack traces, which help only the author of the program. */
function isTelling(line: string): boolean {
  return !/^[\s{}[\](),;]*$|^\s+at |^\s*\^+\s*$|^Node\.js v\d/.test(line);
}
