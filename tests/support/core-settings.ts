import { fileSchema, type Settings } from '../../src/config/schema.ts';

/** The defaults of the program, except for what the test says. */
export function coreSettings(meanwhile: Record<string, unknown> = {}): Settings {
  return { ...fileSchema.parse({ meanwhile }).meanwhile, store: ':memory:', logLevel: 'silent' };
}
