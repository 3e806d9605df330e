/** Makes a flat form of the input schema of a tool, where that is possible. */

import { alternatives, mandatoryOf, propertiesOf, type JsonSchema } from '../../lib/form/json-schema.ts';
import { choiceValues } from '../../lib/form/choices.ts';
import { isObject } from '../../lib/values.ts';

/** Keywords that say more about the object than its properties do. */
const BEYOND = ['oneOf', 'anyOf', 'allOf', 'if', 'not', 'patternProperties', 'dependentRequired', 'dependentSchemas'];

export interface Simplified {
  form: JsonSchema;
  /** Why a form cannot express everything that the schema allows. */
  limits?: string;
}

export function simplify(schema: JsonSchema | undefined): Simplified {
  const root = schema ?? { type: 'object' };
  const properties = [...propertiesOf(root)].map(([name, property]) => [name, simpleProperty(property, root)] as const);
  const form = { type: 'object', properties: Object.fromEntries(properties), required: mandatoryOf(root) };
  const beyond = BEYOND.filter((keyword) => keyword in root);
  if (beyond.length > 0)
    return { form, limits: `The schema has rules for the arguments as a whole (${beyond.join(', ')}).` };
  if (isObject(root['additionalProperties']) || (properties.length === 0 && root['additionalProperties'] === true)) {
    return { form, limits: 'The tool accepts arguments with any names.' };
  }
  return { form };
}

/** A choice of one type and `null` is that type; any other mixture is entered as JSON or text. */
function simpleProperty(property: JsonSchema, root: JsonSchema): JsonSchema {
  if (choiceValues(property) !== undefined) return property;
  if ('const' in property) return { ...property, enum: [property['const']] };
  const options = alternatives(property, root).filter((option) => option['type'] !== 'null');
  const [only] = options;
  const { anyOf: _any, oneOf: _one, type: _type, ...rest } = property;
  return options.length === 1 && only !== undefined ? { ...rest, ...only } : rest;
}
