import { didYouMean } from '../did-you-mean.ts';
import type { GivenArgument } from './given.ts';
import {
  alternatives,
  defaultOf,
  isOpen,
  propertiesOf,
  requiredOf,
  resolve,
  type JsonSchema,
} from '../../lib/form/json-schema.ts';
import { typed } from './typed.ts';

export type ToolArguments = { args: Record<string, unknown> } | { mistakes: string[] };

/**
 * Merges the arguments of `--args` with those given one by one, converted to the types of the tool's schema. A required
 * argument that is missing is sent with its default, if it has one.
 */
export function toolArguments(
  inputSchema: JsonSchema,
  given: readonly GivenArgument[],
  base: Record<string, unknown> = {},
): ToolArguments {
  const root = resolve(inputSchema, inputSchema);
  const properties = propertiesOf(root);
  const args = new Map(Object.entries(base));
  const seen = new Set<string>();
  const mistakes: string[] = [];
  for (const argument of given) {
    const { key } = argument;
    const property = properties.get(key);
    if (property === undefined && !isOpen(root)) {
      mistakes.push(`there is no argument '${key}'${suggestion(key, [...properties.keys()])}`);
      continue;
    }
    const value = argument.kind === 'json' ? argument : typed(argument.text, property ?? {}, root);
    if ('mistake' in value) mistakes.push(`'${key}': ${value.mistake}`);
    else if (!seen.has(key)) args.set(key, value.value);
    else if (isList(property, root)) args.set(key, [args.get(key), value.value].flat());
    else mistakes.push(`'${key}' is given twice`);
    seen.add(key);
  }
  for (const name of requiredOf(root)) {
    if (args.has(name) || seen.has(name)) continue;
    const fallback = defaultOf(properties.get(name));
    if (fallback === undefined) mistakes.push(`'${name}' is missing`);
    // A server that requires the argument may refuse a call without it, despite the default.
    else args.set(name, fallback);
  }
  return mistakes.length === 0 ? { args: Object.fromEntries(args) } : { mistakes };
}

function isList(property: JsonSchema | undefined, root: JsonSchema): boolean {
  return property !== undefined && alternatives(property, root).some(({ type }) => type === 'array');
}

function suggestion(key: string, known: readonly string[]): string {
  return known.length === 0 ? '; it takes no arguments' : didYouMean(key, known);
}
