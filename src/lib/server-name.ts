import * as z from 'zod';

const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

/** The name of a server: safe as an object key, in a URL path (where spaces are escaped) and in a log. */
export const serverNameSchema = z
  .string()
  .regex(
    /^(?! )[A-Za-z0-9_. -]{1,64}(?<! )$/,
    'a name has 1 to 64 of the characters A-Z a-z 0-9 _ . - and spaces, but not at either end',
  )
  .refine((text) => !RESERVED.has(text), 'this name is not allowed')
  // URLs give these two a meaning of their own: such a server would have no address under /mcp/.
  .refine((text) => text !== '.' && text !== '..', "'.' and '..' are not names; use a letter or a digit");
