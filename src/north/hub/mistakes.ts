/** Explains mistakes in calls of hub tools, and names the fix. */

import type * as z from 'zod';
import { known } from '../../core/errors.ts';
import { closest } from '../../lib/closest.ts';
import { shortenText } from '../../lib/shorten.ts';
import { isObject } from '../../lib/values.ts';
import type { HubTool } from './tool.ts';

/** How many mistakes an error names. */
const SHOWN_ISSUES = 5;

export function noSuchTool(name: string, names: readonly string[]): string {
  return `no tool '${name}'; ${suggestion(closest(name, names))}${known(names)}`;
}

export function mistakes({ input }: HubTool, given: unknown, { issues }: z.ZodError): string {
  const told = issues
    .slice(0, SHOWN_ISSUES)
    .map((issue) => {
      if (issue.code === 'unrecognized_keys') return noSuchArguments(issue.keys, Object.keys(input.shape));
      const name = issue.path.map(String).join('.');
      if (issue.code === 'invalid_value' && valueAt(given, issue.path) !== undefined) {
        return `'${name}': expected ${either(issue.values)}, got ${shown(valueAt(given, issue.path))}`;
      }
      const message = issue.message.replace(/^Invalid input: /, '').replace('expected record', 'expected an object');
      return valueAt(given, issue.path) === undefined ? `'${name}' is missing` : `'${name}': ${message}`;
    })
    .join('; ');
  return issues.length > SHOWN_ISSUES ? `${told}; and ${issues.length - SHOWN_ISSUES} more` : told;
}

function noSuchArguments(keys: readonly string[], names: readonly string[]): string {
  const [first = ''] = keys;
  const near = closest(first, names) ?? names.find((each) => each.slice(0, 3) === first.slice(0, 3));
  const unknown = keys.slice(0, SHOWN_ISSUES).map((key) => `'${shortenText(key, 100)}'`);
  return `unknown argument ${unknown.join(', ')}; ${suggestion(near)}${known(names)}`;
}

function suggestion(near: string | undefined): string {
  return near === undefined ? '' : `did you mean '${near}'? `;
}

function shown(value: unknown): string {
  return shortenText(JSON.stringify(value), 100);
}

function either(values: readonly unknown[]): string {
  const shown = values.map((value) => JSON.stringify(value));
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const step of path) value = isObject(value) || Array.isArray(value) ? Reflect.get(value, step) : undefined;
  return value;
}
