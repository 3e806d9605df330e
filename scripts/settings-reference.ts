/** The settings for the reference in docs/, from the schema of the config file. */

import { configJsonSchema } from '../src/config/schema.ts';
import type { JsonSchemaNode } from '../src/lib/schema/kinds.ts';

interface SettingReference {
  /** Dotted, as in `tasks.ttlMs`. */
  key: string;
  type: string;
  default: unknown;
  minimum?: number;
  maximum?: number;
  description: string;
}

/** One row a setting, in the order of the schema. */
export function settingsReference(): SettingReference[] {
  const root = configJsonSchema().properties?.['meanwhile'];
  return root ? rows(root, '') : [];
}

function rows(node: JsonSchemaNode, prefix: string): SettingReference[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    if (child.properties) return rows(child, `${prefix}${key}.`);
    const { minimum, maximum } = child;
    return [
      {
        key: prefix + key,
        type: child.enum ? child.enum.map(String).join(' | ') : (child.type ?? 'unknown'),
        default: child.default,
        ...(minimum !== undefined && { minimum }),
        ...(maximum !== undefined && { maximum }),
        description: child.description ?? '',
      },
    ];
  });
}
