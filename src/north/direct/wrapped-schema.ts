/** Output schemas for legacy clients, whose protocol requires objects as structured results. */

import { isObject } from '../../lib/values.ts';

type Schema = Record<string, unknown>;

/** Whether a schema describes results that have to be wrapped in an object with the field `result`. */
export function needsWrapping(outputSchema: unknown): outputSchema is Schema {
  return isObject(outputSchema) && outputSchema['type'] !== 'object';
}

/** The schema of the wrapped results. References within the schema follow it to its new place. */
export function wrapped(schema: Schema): Schema {
  const { $schema } = schema;
  return {
    ...(typeof $schema === 'string' && { $schema }),
    type: 'object',
    properties: { result: hasOwnBase(schema) ? schema : moved(schema, convertsRecursion(schema)) },
    required: ['result'],
  };
}

const NEW_PLACE = '#/properties/result';

/** Keywords whose values are data, not schemas. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose values are objects of named schemas. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);

/** References in a schema with an absolute `$id` stay as they are. */
function hasOwnBase({ $id }: Schema): boolean {
  return $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'));
}

/** Only the draft of 2019 has `$recursiveRef`, which would point to the wrapper. */
function convertsRecursion({ $schema, $recursiveAnchor }: Schema): boolean {
  const is2019 = typeof $schema === 'string' && /^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/.test($schema);
  return is2019 && $recursiveAnchor !== true;
}

function moved(schema: Schema, convert: boolean): Schema {
  if (hasOwnBase(schema)) return schema;
  const result: Schema = {};
  let recursive = false;
  for (const [key, value] of Object.entries(schema)) {
    if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') result[key] = movedReference(value);
    else if (key === '$recursiveRef' && value === '#' && convert) recursive = true;
    else if (DATA.has(key)) result[key] = value;
    else result[key] = movedValue(value, convert, NAMED.has(key));
  }
  if (!recursive) return result;
  if (!('$ref' in result)) return { ...result, $ref: NEW_PLACE };
  const others: unknown[] = Array.isArray(result['allOf']) ? result['allOf'] : [];
  return { ...result, allOf: [...others, { $ref: NEW_PLACE }] };
}

function movedValue(value: unknown, convert: boolean, named = false): unknown {
  if (Array.isArray(value)) return value.map((each) => movedValue(each, convert));
  if (!isObject(value)) return value;
  if (!named) return moved(value, convert);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, movedValue(each, convert)]));
}

function movedReference(reference: string): string {
  if (reference === '#') return NEW_PLACE;
  return reference.startsWith('#/') ? `${NEW_PLACE}${reference.slice(1)}` : reference;
}
