/** Ranks the models for a sampling request: by the first matching hint, then by the server's priorities. */

import { compileGlob } from '../../lib/pattern.ts';
import { isObject } from '../../lib/values.ts';

/** The scores of a model for each priority of a server, from 0 to 1; `cost` 1 is the cheapest. */
interface Scores {
  cost: number;
  speed: number;
  intelligence: number;
}

export interface ModelSettings {
  /** The wire format of its endpoint. */
  api: 'openai' | 'anthropic';
  /** Its name at the endpoint. */
  model: string;
  /** Patterns of hints that it also serves. */
  hints?: readonly string[] | undefined;
  scores: Scores;
  /** Patterns of the servers that it serves; those of the config file by default. */
  servers?: readonly string[] | undefined;
  /** All by default. */
  principals?: readonly string[] | undefined;
  /** The limit for one answer. */
  maxTokens: number;
  /** For each server. */
  budget: { callsPerDay: number; tokensPerDay?: number | undefined };
  /** Whether a person reviews each prompt before it is sent. */
  review: boolean;
}

export interface ModelClient {
  principal: string;
  server: string;
  /** Whether the server is from the config file. */
  configured: boolean;
}

/** All models that may answer, in order: each is asked only if those before it have failed. */
export function chooseModels(
  models: Readonly<Record<string, ModelSettings>>,
  client: ModelClient,
  params: Record<string, unknown>,
): string[] {
  const needsAudio = hasAudio(params['messages']);
  const able = Object.entries(models).filter(
    ([, model]) => serves(model, client) && !(needsAudio && model.api === 'anthropic'),
  );
  const preferences = isObject(params['modelPreferences']) ? params['modelPreferences'] : {};
  const weight = (name: string): number => (typeof preferences[name] === 'number' ? preferences[name] : 0);
  const [cost, speed, intelligence] = [weight('costPriority'), weight('speedPriority'), weight('intelligencePriority')];
  const score = ({ scores }: ModelSettings): number =>
    cost * scores.cost + speed * scores.speed + intelligence * scores.intelligence;
  const wanted = hintsIn(preferences['hints']);
  // Ties are resolved by config order.
  return able
    .toSorted((a, b) => firstHint(a, wanted) - firstHint(b, wanted) || score(b[1]) - score(a[1]))
    .map(([name]) => name);
}

function serves({ servers, principals }: ModelSettings, { principal, server, configured }: ModelClient): boolean {
  if (principals !== undefined && !principals.includes(principal)) return false;
  return servers === undefined ? configured : servers.some((pattern) => compileGlob(pattern)(server));
}

function hintsIn(hints: unknown): string[] {
  return (Array.isArray(hints) ? hints : []).flatMap((hint: unknown) =>
    isObject(hint) && typeof hint['name'] === 'string' && hint['name'] !== '' ? [hint['name']] : [],
  );
}

/** The index of the first matching hint. A hint is part of a model name; models of other vendors may serve it too. */
function firstHint(
  [name, { model, hints: patterns = [] }]: [string, ModelSettings],
  wanted: readonly string[],
): number {
  const place = wanted.findIndex(
    (hint) =>
      [name, model].some((text) => text.toLowerCase().includes(hint.toLowerCase())) ||
      patterns.some((pattern) => compileGlob(pattern)(hint)),
  );
  return place === -1 ? wanted.length : place;
}

function hasAudio(messages: unknown): boolean {
  const blocks = (Array.isArray(messages) ? messages : []).flatMap((message: unknown) =>
    isObject(message) ? message['content'] : [],
  );
  return blocks.some((block) => isObject(block) && block['type'] === 'audio');
}
