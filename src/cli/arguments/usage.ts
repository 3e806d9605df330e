import type { Tool } from '../../client/types.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { table } from '../terminal/layout.ts';
import { quoteWord } from '../server/shell-words.ts';
import { describeType, mandatoryOf, propertiesOf, resolve } from '../../lib/form/json-schema.ts';

export interface ArgumentUsage {
  key: string;
  required: boolean;
  /** Cells between the name and `required`. */
  type: readonly string[];
  note: string;
}

/** How a tool or prompt is called: one line to type, then its arguments one per line. */
export function usage(command: string, server: string, name: string, known: readonly ArgumentUsage[]): string {
  const operands = known.map(operandOf);
  const line = [`usage: meanwhile ${command}`, quoteWord(server), quoteWord(name), ...operands].join(' ');
  const rows = known.map(({ key, type, required, note }) => [`  ${key}`, ...type, required ? 'required' : '', note]);
  return [line, ...(rows.length === 0 ? [] : [table(rows)])].join('\n');
}

export const operandOf = ({ key, required }: ArgumentUsage): string => (required ? `${key}=…` : `[${key}=…]`);

export function toolUsage(server: string, { name, inputSchema }: Pick<Tool, 'name' | 'inputSchema'>): string {
  const root = resolve(inputSchema, inputSchema);
  const required = new Set(mandatoryOf(root));
  const known = [...propertiesOf(root)].map(([key, schema]): ArgumentUsage => {
    const { description, default: fallback } = schema;
    const notes = [
      typeof description === 'string' ? cleanLine(description) : '',
      fallback === undefined ? '' : `(default ${cleanLine(JSON.stringify(fallback))})`,
    ];
    return {
      key: cleanLine(key),
      required: required.has(key),
      type: [clean(describeType(schema, root))],
      note: notes.filter(Boolean).join(' '),
    };
  });
  known.sort((a, b) => Number(b.required) - Number(a.required));
  return usage('call', server, cleanLine(name), known);
}
