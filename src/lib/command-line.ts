/** Recognizes a command line given as a program name, and shows how to write it instead. */

const BEFORE_THE_PROGRAM = new Set(['-y', '--yes', '-m']);
const PLAIN = /^[@\w./][@\w./-]*$/;

/** `undefined` if there is nothing but a program. */
export function programIn(command: string): string | undefined {
  return /^(\S+)\s+\S/.exec(command.trim())?.[1];
}

/**
 * As in `"command": "npx", "args": ["-y", "some-server", …]`. Later arguments may be secret and are not shown. `more`: there
 * are other arguments, too.
 */
export function asProgramAndArguments(command: string, more = false): string {
  const [program = '', ...words] = command.trim().split(/\s+/);
  const named = words.findIndex((word) => !BEFORE_THE_PROGRAM.has(word));
  const end = named < 0 ? words.length : named + (PLAIN.test(words[named] ?? '') ? 1 : 0);
  const shown = words.slice(0, end).map((word) => JSON.stringify(word));
  const rest = more || end < words.length ? ['…'] : [];
  return `"command": ${JSON.stringify(program)}, "args": [${[...shown, ...rest].join(', ')}]`;
}
