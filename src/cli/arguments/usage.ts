import type { Tool } from '../../client/types.ts';
import { clean, cleanLine } from '../terminal/clean.ts';
import { pad, displayWidth } from '../terminal/width.ts';
import { quoteWord } from '../server/shell-words.ts';
import { describeType, mandatoryOf, propertiesOf, resolve } from '../json-schema.ts';

/** How a tool is called: one line to type, then its arguments one a line. */
export function toolUsage(server: string, { name, inputSchema }: Pick<Tool, 'name' | 'inputSchema'>): string {
  const root = resolve(inputSchema, inputSchema);
  const required = new Set(mandatoryOf(root));
  const rows = [...propertiesOf(root)].map(([key, schema]) => {
    const { description, default: fallback } = schema;
    const type = describeType(schema, root);
    return {
      key: cleanLine(key),
      required: required.has(key),
      type: clean(type),
      note: [
        typeof description === 'string' ? cleanLine(description) : '',
        fallback === undefined ? '' : `(default ${cleanLine(JSON.stringify(fallback))})`,
      ]
        .filter(Boolean)
        .join(' '),
    };
  });
  rows.sort((a, b) => Number(b.required) - Number(a.required));
  const operands = rows.map((row) => (row.required ? `${row.key}=…` : `[${row.key}=…]`));
  const usage = ['usage: meanwhile call', quoteWord(server), quoteWord(cleanLine(name)), ...operands].join(' ');
  const keyWidth = Math.max(0, ...rows.map(({ key }) => displayWidth(key)));
  const typeWidth = Math.min(32, Math.max(0, ...rows.map(({ type }) => displayWidth(type))));
  const lines = rows.map(({ key, type, note, required: must }) =>
    `  ${pad(key, keyWidth)}  ${pad(type, typeWidth)}  ${must ? 'required' : '        '}  ${note}`.trimEnd(),
  );
  return [usage, ...lines].join('\n');
}
