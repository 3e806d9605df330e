import * as z from 'zod';

const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

/** What a server may be called: a name that is also safe as a key, in a path and in a log. */
export const serverNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'a name has 1 to 64 of the characters A-Z a-z 0-9 _ . -')
  .refine((text) => !RESERVED.has(text), 'this name is not allowed');
