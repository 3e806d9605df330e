/** Writes schema/config.schema.json from the schema in the code. */

import { writeFile } from 'node:fs/promises';
import { configJsonSchema } from '../src/config/schema.ts';

const target = new URL('../schema/config.schema.json', import.meta.url);
await writeFile(target, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
