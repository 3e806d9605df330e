/** Rules for the tools that servers have: ask before one that may delete or overwrite something, allow read-only ones. */

import { hintsOf } from '../../core/policy/hints.ts';
import type { Rule } from '../../core/policy/rule.ts';
import { cleanLine } from '../../lib/clean.ts';
import { isObject } from '../../lib/values.ts';

interface ListedTool {
  name: string;
  annotations?: unknown;
}

/** The tools of one server, by their annotations. */
export interface SortedTools {
  server: string;
  readOnly: string[];
  destructive: string[];
  /** Tools that modify something, but only by adding to it. */
  additive: string[];
  /** Tools without annotations, which count as destructive. */
  unannotated: string[];
}

export interface Proposal {
  rules: Rule[];
  /** The same for a config file, with comments that name the tools. */
  text: string;
}

export function sortTools(server: string, tools: readonly ListedTool[]): SortedTools {
  const sorted: SortedTools = { server, readOnly: [], destructive: [], additive: [], unannotated: [] };
  for (const { name, annotations } of tools) sorted[kindOf(annotations)].push(name);
  return sorted;
}

function kindOf(annotations: unknown): Exclude<keyof SortedTools, 'server'> {
  const { readOnlyHint, destructiveHint } = hintsOf(annotations);
  if (!destructiveHint) return readOnlyHint ? 'readOnly' : 'additive';
  const says = isObject(annotations) ? [annotations['readOnlyHint'], annotations['destructiveHint']] : [];
  return says.some((hint) => typeof hint === 'boolean') ? 'destructive' : 'unannotated';
}

const ASK: Pick<Rule, 'then' | 'remember' | 'approver'> = { then: 'ask', remember: true, approver: 'person' };

export function propose(servers: readonly SortedTools[]): Proposal {
  const lines: { comment: string; rules: Rule[] }[] = servers
    .filter(({ unannotated }) => unannotated.length > 0)
    .map(({ server, unannotated }) => ({
      comment: `${server} does not annotate these tools. Change "ask" to "allow" for harmless tools.`,
      rules: [...new Set(unannotated)].map((tool) => ({ server, tool, ...ASK })),
    }));
  const all = (kind: Exclude<keyof SortedTools, 'server'>): string => {
    const found = servers.filter((each) => each[kind].length > 0);
    return found.map((each) => `${each.server}: ${each[kind].join(', ')}`).join('; ') || 'none at present';
  };
  lines.push(
    {
      comment: `Tools that declare themselves read-only (${all('readOnly')}).`,
      rules: [{ annotations: { readOnlyHint: true }, then: 'allow' }],
    },
    {
      comment: `Tools that may delete or overwrite something (${all('destructive')}), including tools added later.`,
      rules: [{ annotations: { destructiveHint: true }, ...ASK }],
    },
  );
  const rules = lines.flatMap((line) => line.rules);
  const text = lines.flatMap(({ comment, rules: own }) => [
    commented(comment),
    ...own.map((rule) => `  ${onOneLine(rule)}${rule === rules.at(-1) ? '' : ','}`),
  ]);
  const rest = `Allowed because no rule matches: tools that only add something (${all('additive')}).`;
  return { rules, text: ['"rules": [', ...text, commented(rest), ']'].join('\n') };
}

const onOneLine = (rule: Rule): string => JSON.stringify(rule, undefined, 1).replaceAll(/\n */g, ' ');

/** Names of tools may contain anything, also line breaks, which would end the comment. */
const commented = (text: string): string => `  // ${cleanLine(text)}`;
