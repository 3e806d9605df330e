/** Models for sampling requests: what the file may say of them, and what the schema cannot check. */

import { known } from '../core/errors.ts';
import type { ModelSettings } from '../core/models/choose.ts';
import { MAX_DELAY_MS } from '../lib/clock.ts';
import { compileGlob, isGlob } from '../lib/pattern.ts';
import * as z from '../lib/schema/kinds.ts';
import { serverNameSchema as name } from '../lib/server-name.ts';
import { isObject } from '../lib/values.ts';
import type { Mistake } from './expand.ts';

const isBaseUrl = (text: string): boolean => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
};

/** Other characters cannot be sent in a header; what is said then may contain the key. */
const isKey = (text: string): boolean => /^[\x21-\x7e]*$/.test(text);

const score = (help: string) => z.number().min(0).max(1).default(0.5).describe(help);

const patterns = z.array(z.string().min(1));

const count = () => z.int().min(1).max(1_000_000_000_000);

const model = z
  .strictObject({
    api: z
      .enum(['openai', 'anthropic'])
      .describe('The wire format: chat completions, as many programs have them, or messages.'),
    url: z
      .string()
      .refine(
        isBaseUrl,
        'expected an address such as http://127.0.0.1:11434/v1, without credentials, a query or a fragment',
      )
      .optional()
      .describe('Where the API begins; `https://api.openai.com/v1` or `https://api.anthropic.com` by default.'),
    key: z
      .string()
      .min(1)
      .refine(isKey, 'a key has visible ASCII characters only: look for spaces and line ends in the variable')
      .optional()
      .describe('The key of the API, as a variable: `${OPENAI_API_KEY}`.'),
    model: z.string().min(1).max(200).describe('The name of the model at the API.'),
    hints: patterns
      .optional()
      .describe('Patterns of hints of servers that it serves besides its own name, such as `claude-*`.'),
    scores: z
      .strictObject({
        cost: score('1 is the cheapest.'),
        speed: score('1 is the fastest.'),
        intelligence: score('1 is the most capable.'),
      })
      .describe('How well it does on the priorities that a server may have, from 0 to 1.')
      .prefault({}),
    maxTokens: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(4096)
      .describe('The longest answer, also if the server wants more.'),
    servers: patterns
      .optional()
      .describe('Names and patterns of the servers that it serves; those of this file by default.'),
    principals: z.array(name).optional().describe('Names from `auth.tokens` that it serves; all by default.'),
    budget: z
      .strictObject({
        callsPerDay: count().default(100).describe('How many requests of one server it answers in a day.'),
        tokensPerDay: count().optional().describe('How many tokens the requests of one server may take in a day.'),
      })
      .describe('What each server may use in a day, which begins at midnight UTC.')
      .prefault({}),
    review: z.boolean().default(false).describe('Whether a person has to agree before a prompt is sent.'),
    timeoutMs: z
      .int()
      .min(1)
      .max(MAX_DELAY_MS)
      .default(60_000)
      .describe('How long an answer may take, with all attempts.'),
  })
  .describe('A model that answers sampling requests.');

export const modelsSchema = z
  .record(name, model)
  .default({})
  .describe(
    'Models by name, for sampling requests of servers that no client can answer: `{"api", "url", "key", "model", "hints", "scores", ' +
      '"maxTokens", "servers", "principals", "budget", "review", "timeoutMs"}`; `api` and `model` are required. See ANSWERS.md.',
  );

type Entry = z.Output<typeof model>;

/** With the name of the variable that has the key, for messages. */
export type ModelConfig = Entry & ModelSettings & { keyVariable?: string };

interface Checked {
  models: Record<string, ModelConfig>;
  mistakes: Mistake[];
  warnings: Mistake[];
}

const VARIABLE = /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** `written`: the file before variables are expanded. */
export function checkModels(
  models: Readonly<Record<string, Entry>>,
  written: unknown,
  { servers, principals }: { servers: readonly string[]; principals: readonly string[] },
): Checked {
  const checked: Checked = { models: {}, mistakes: [], warnings: [] };
  for (const [each, entry] of Object.entries(models)) {
    const path = ['meanwhile', 'models', each];
    const variable = keyVariableOf(written, each);
    checked.models[each] = { ...entry, ...(variable !== undefined && { keyVariable: variable }) };
    if (entry.key !== undefined && variable === undefined) {
      const message = 'keys do not belong in this file: write ${NAME}, and set NAME in the environment';
      checked.mistakes.push({ path: [...path, 'key'], message });
    }
    for (const [index, principal] of (entry.principals ?? []).entries()) {
      if (principals.includes(principal)) continue;
      checked.mistakes.push({ path: [...path, 'principals', index], message: 'not a name in auth.tokens' });
    }
    for (const [index, server] of (entry.servers ?? []).entries()) {
      if (servers.some(compileGlob(server))) continue;
      const kind = isGlob(server) ? 'the pattern' : 'the name';
      const message = `${kind} '${server}' matches no server of this file; ${known(servers)}`;
      checked.warnings.push({ path: [...path, 'servers', index], message });
    }
  }
  return checked;
}

function keyVariableOf(written: unknown, model: string): string | undefined {
  const at = (value: unknown, step: string): unknown =>
    isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  const key = ['meanwhile', 'models', model, 'key'].reduce(at, written);
  return typeof key === 'string' ? VARIABLE.exec(key)?.[1] : undefined;
}
