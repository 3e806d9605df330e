import * as z from './schema/kinds.ts';

const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

export const NAME_PATTERN = /^(?! )[A-Za-z0-9_. -]{1,64}(?<! )$/;

/** The rules for names, and their error messages. */
export const NAME_RULES: readonly (readonly [isRight: (text: string) => boolean, otherwise: string])[] = [
  [
    (text) => NAME_PATTERN.test(text),
    'a name must be 1 to 64 of the characters A-Z a-z 0-9 _ . - and spaces, with no space at either end',
  ],
  [(text) => !RESERVED.has(text), 'this name is not allowed'],
  // These two have a special meaning in URLs: such a server would have no path under /mcp/.
  [(text) => text !== '.' && text !== '..', "'.' and '..' are not names; use a letter or a digit"],
];

/** The name of a server: safe as an object key, in a URL path (where spaces are escaped) and in a log. */
export const serverNameSchema: z.Schema<string> = NAME_RULES.reduce(
  (schema, [isRight, otherwise]) => schema.refine(isRight, otherwise),
  z.string().meta({ pattern: NAME_PATTERN.source }),
);
