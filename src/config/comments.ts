/** JSON as editors write it: with comments, and with a comma after the last of a list. */

import { parseJson } from './json.ts';

/** Strings first, so that nothing in one is taken for a comment; one without its end is over with its line. */
const TOKEN = /"(?:[^"\\\r\n]+|\\.)*"?|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|[^\s"]/g;

/** What may stand before a comma that is one too many. One that follows none of it stays, and is a mistake. */
const AN_ELEMENT = /^[^{[,:]/;

export function parseJsonWithComments(text: string): unknown {
  return parseJson(blankOut(text));
}

/** The same text as JSON. Everything in it keeps its place, so that a mistake is found where the person made it. */
export function blankOut(text: string): string {
  const chars = text.split('');
  const blank = (from: number, to: number): void => {
    for (let at = from; at < to; at++) if (!/[\r\n]/.test(chars[at] ?? '')) chars[at] = ' ';
  };
  let [last, beforeLast, lastAt] = ['', '', 0];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (/^\/[/*]/.test(token)) {
      blank(index, index + token.length);
      continue;
    }
    if (/^[}\]]/.test(token) && last === ',' && AN_ELEMENT.test(beforeLast)) blank(lastAt, lastAt + 1);
    [beforeLast, last, lastAt] = [last, token, index];
  }
  return chars.join('');
}
