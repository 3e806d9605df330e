import type { StandardSchemaV1 } from '@modelcontextprotocol/server';

/** Lets a result through as the server gave it: a gateway has no business with the fields it does not know. */
export const ANY_RESULT: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'meanwhile',
    validate: (value) =>
      typeof value === 'object' && value !== null
        ? { value: value as Record<string, unknown> }
        : { issues: [{ message: 'the result is not an object' }] },
  },
};
