import type { StandardSchemaV1 } from '@modelcontextprotocol/server';

/** A schema that accepts any object and keeps all its fields: a gateway passes on fields that it does not know. */
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
