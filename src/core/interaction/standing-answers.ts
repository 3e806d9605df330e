/** Rules of the config that answer routine questions. The first rule that matches a question decides. */

import { looksLikeSecret, secretField } from '../../lib/form/secret-fields.ts';
import type { Log } from '../../lib/log.ts';
import { compileGlob } from '../../lib/pattern.ts';
import { isObject } from '../../lib/values.ts';
import { answerMistake } from './answer.ts';
import type { Answer } from './interaction.ts';

export const FIELD_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'any'] as const;

/** The conditions on a question, and its answer. Absent conditions always hold. */
export interface StandingRule {
  name?: string | undefined;
  /** Patterns. */
  server?: string | undefined;
  tool?: string | undefined;
  message?: string | undefined;
  /** The form has these fields, of these types, and no others. */
  schema?: Readonly<Record<string, (typeof FIELD_TYPES)[number]>> | undefined;
  action: 'accept' | 'decline' | 'cancel';
  content?: Readonly<Record<string, unknown>> | undefined;
}

/** A question of a server that a rule may answer. */
export interface RoutineQuestion {
  id: string;
  server: string;
  /** The tool of the call that certainly asked. */
  tool: string | undefined;
  params: Record<string, unknown>;
  /** The server's original message. */
  message: unknown;
}

export interface StandingAnswer {
  /** The name of the rule. */
  rule: string;
  answer: Answer;
}

/** Returns the answer to a question, if a rule has one. */
export type StandingAnswers = (question: RoutineQuestion) => StandingAnswer | undefined;

/** What a rule is called in the log and in the history. */
export const ruleName = ({ name }: Pick<StandingRule, 'name'>, index: number): string => name ?? `answers[${index}]`;

/** The field that the rule must not fill in, as far as the rule itself reveals it. */
export function secretInRule({
  schema = {},
  content = {},
}: Pick<StandingRule, 'schema' | 'content'>): string | undefined {
  const named = Object.entries(schema).filter(([, type]) => type !== 'boolean');
  const given = Object.entries(content).filter(([, value]) => typeof value !== 'boolean');
  return [...named, ...given].map(([field]) => field).find(looksLikeSecret);
}

/** `dryRun`: only log what would be answered. */
export function standingAnswers(
  rules: readonly StandingRule[],
  { dryRun, log }: { dryRun: boolean; log: Log },
): StandingAnswers | undefined {
  if (rules.length === 0) return undefined;
  const compiled = rules.map((rule, index) => ({ ...rule, name: ruleName(rule, index), matches: matcher(rule) }));
  return (question) => {
    const { id: requestId, server, tool, params } = question;
    // A person must see the address before opening a page.
    if (params['mode'] === 'url') return undefined;
    const rule = compiled.find(({ matches }) => matches(question));
    if (rule === undefined) return undefined;
    const { name, action, content = {} } = rule;
    const about = { requestId, server, ...(tool !== undefined && { tool }), rule: name };
    const answer: Answer = action === 'accept' ? { action, content: { ...content } } : { action };
    const mistake = whyNot(params, answer);
    if (mistake !== undefined) {
      log.warn('standing_answer_not_used', { ...about, reason: mistake });
      return undefined;
    }
    if (dryRun) {
      log.warn('standing_answer_dry_run', { ...about, wouldAnswer: answer });
      return undefined;
    }
    log.info('standing_answer', { ...about, action });
    return { rule: name, answer };
  };
}

function whyNot(params: Record<string, unknown>, answer: Answer): string | undefined {
  const secret = secretField(params['requestedSchema'], { descriptions: true });
  if (secret !== undefined) return `the field '${secret}' looks like a secret; a person must answer`;
  const mistake = answerMistake({ kind: 'elicitation', params }, answer);
  return mistake === undefined ? undefined : `its content does not match the question: ${mistake}`;
}

function matcher({ server, tool, message, schema }: StandingRule): (question: RoutineQuestion) => boolean {
  const [ofServer, ofTool, ofMessage] = [server, tool, message].map((pattern) =>
    pattern === undefined ? undefined : compileGlob(pattern),
  );
  return (question) =>
    (ofServer === undefined || ofServer(question.server)) &&
    (ofTool === undefined || (question.tool !== undefined && ofTool(question.tool))) &&
    (ofMessage === undefined || (typeof question.message === 'string' && ofMessage(question.message))) &&
    (schema === undefined || hasSchema(question.params['requestedSchema'], schema));
}

function hasSchema(form: unknown, wanted: NonNullable<StandingRule['schema']>): boolean {
  const { properties } = isObject(form) ? form : {};
  const fields = isObject(properties) ? properties : {};
  if (Object.keys(fields).length !== Object.keys(wanted).length) return false;
  return Object.entries(wanted).every(([name, type]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!isObject(field)) return false;
    // A choice without a type has string values.
    return type === 'any' || (field['type'] ?? ('enum' in field ? 'string' : undefined)) === type;
  });
}
