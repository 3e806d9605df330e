/** Rules that answer routine questions: what the file may say of them, and rules that could not work. */

import { isDeepStrictEqual } from 'node:util';
import { FIELD_TYPES, ruleName, secretInRule, type StandingRule } from '../core/interaction/standing-answers.ts';
import { known } from '../core/errors.ts';
import { compileGlob } from '../lib/pattern.ts';
import * as z from '../lib/schema/kinds.ts';
import type { Mistake } from './expand.ts';

/** Longer patterns are mistakes, and would only cost time. */
const MAX_PATTERN = 1000;

const pattern = (help: string) => z.string().min(1).max(MAX_PATTERN).optional().describe(help);

const rule = z
  .strictObject({
    name: z.string().min(1).max(100).optional().describe('What the rule is called in the log and in the console.'),
    server: pattern('A pattern of the names of servers.'),
    tool: pattern('A pattern of the names of tools; only for questions that certainly belong to a call.'),
    message: pattern('A pattern of the whole message, such as `Overwrite *?`. `*` and `?` are wildcards.'),
    schema: z
      .record(z.string(), z.enum(FIELD_TYPES))
      .optional()
      .describe('The fields of the form with their types: these and no others, such as `{"confirm": "boolean"}`.'),
    action: z.enum(['accept', 'decline', 'cancel']).describe('How the question is answered.'),
    content: z.record(z.string(), z.unknown()).optional().describe('What the form is filled in with, to `accept` it.'),
  })
  .describe('A rule that answers routine questions.');

export const answersSchema = z
  .array(rule)
  .default([])
  .describe(
    'Rules that answer routine questions; the first that matches decides: `{"name", "server", "tool", "message", "schema", ' +
      '"action", "content"}`. Never for links, and never for fields that look like secrets. See ANSWERS.md.',
  );

interface Findings {
  mistakes: Mistake[];
  warnings: Mistake[];
}

export function checkAnswers(rules: readonly StandingRule[], servers: readonly string[]): Findings {
  const mistakes: Mistake[] = [];
  const warnings: Mistake[] = [];
  for (const [index, each] of rules.entries()) {
    const path = ['meanwhile', 'answers', index];
    const message = mistakeIn(each, rules.slice(0, index));
    if (message !== undefined) mistakes.push({ path, message });
    const { server } = each;
    if (server !== undefined && !servers.some(compileGlob(server))) {
      const hint = `no server of this file matches '${server}'; ${known(servers)}`;
      warnings.push({
        path: [...path, 'server'],
        message: `${hint}; the rule applies only to servers that clients add`,
      });
    }
    const before = rules.slice(0, index).findIndex((earlier) => covers(earlier, each));
    if (before >= 0) {
      const first = ruleName(rules[before] ?? {}, before);
      warnings.push({
        path,
        message: `never used: ${first} comes first and matches every question that this rule matches`,
      });
    }
  }
  return { mistakes, warnings };
}

function mistakeIn(given: StandingRule, earlier: readonly StandingRule[]): string | undefined {
  const { name, server, tool, message, schema, action, content } = given;
  if (name !== undefined && earlier.some((each) => each.name === name)) return `two rules are called '${name}'`;
  const secret = secretInRule(given);
  if (secret !== undefined) return `the field '${secret}' looks like a secret, which only a person may enter`;
  if (action !== 'accept')
    return content === undefined ? undefined : `"content" is only allowed with "action": "accept"`;
  if ([server, tool, message, schema].every((condition) => condition === undefined)) {
    return 'would accept every question; give at least one of server, tool, message, schema';
  }
  if (schema === undefined || content === undefined) return undefined;
  const unknown = Object.keys(content).find((field) => !Object.hasOwn(schema, field));
  return unknown === undefined
    ? undefined
    : `never matches: "content" has the field '${unknown}', but "schema" does not`;
}

/** Whether a rule matches all that another one matches. Only what is plain to see; patterns may overlap in other ways. */
function covers(one: StandingRule, other: StandingRule): boolean {
  const isWider = (key: 'server' | 'tool' | 'message'): boolean =>
    one[key] === undefined || one[key] === '*' || one[key]?.toLowerCase() === other[key]?.toLowerCase();
  const sameSchema = one.schema === undefined || isDeepStrictEqual(one.schema, other.schema);
  return isWider('server') && isWider('message') && isWider('tool') && sameSchema;
}
