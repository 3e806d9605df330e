/** The tools that the load calls, and what each of them does. */
import type { Random } from './random.ts';
import type { Json } from './told.ts';

export type ServerKind = 'plain' | 'rounds' | 'core' | 'ext' | 'child';

export interface CallKind {
  server: ServerKind;
  tool: string;
  /** How many questions it asks, one after the other. */
  questions: number;
  args: (label: string, random: Random) => Json;
  /** Of the call itself: so short that it becomes a task, or so long that it does not. */
  timeoutMs: (random: Random) => number;
}

const short = (random: Random): number => random.int(1, 80);
const patient = (): number => 20_000;

const echo = (server: ServerKind): CallKind => ({
  server,
  tool: 'echo',
  questions: 0,
  args: (text) => ({ text }),
  timeoutMs: patient,
});

const slow = (server: ServerKind, least: number, most: number, timeoutMs: CallKind['timeoutMs']): CallKind => ({
  server,
  tool: 'slow',
  questions: 0,
  args: (text, random) => ({ text, ms: random.int(least, most) }),
  timeoutMs,
});

/** The label is in the question, so that the one who answers knows what for. */
const ask = (server: ServerKind): CallKind => ({
  server,
  tool: 'ask',
  questions: 1,
  args: (label) => ({ message: label, ...(server === 'ext' && { text: label }) }),
  timeoutMs: (random) => (random.chance(0.3) ? short(random) : patient()),
});

const askTwice = (server: ServerKind): CallKind => ({
  server,
  tool: 'ask_twice',
  questions: 2,
  args: (label) => (server === 'ext' ? { text: label } : { label }),
  timeoutMs: patient,
});

const sample = (server: ServerKind): CallKind => ({
  server,
  tool: 'sample',
  questions: 1,
  args: (label) => ({ prompt: label, ...(server === 'ext' && { text: label }) }),
  timeoutMs: patient,
});

export const CALL_KINDS: readonly [CallKind, ...CallKind[]] = [
  echo('plain'),
  echo('rounds'),
  echo('ext'),
  echo('core'),
  slow('plain', 5, 80, patient),
  slow('plain', 20, 1500, short),
  slow('plain', 100, 1500, short),
  slow('rounds', 100, 1000, short),
  slow('core', 50, 2500, short),
  slow('core', 200, 1000, patient),
  slow('ext', 50, 2500, short),
  slow('ext', 200, 1000, patient),
  ask('plain'),
  ask('rounds'),
  ask('rounds'),
  ask('core'),
  ask('ext'),
  ask('ext'),
  askTwice('rounds'),
  askTwice('core'),
  askTwice('ext'),
  sample('plain'),
  sample('rounds'),
  sample('core'),
  sample('ext'),
];

/** Of a server that is a child of its gateway, and ends with it. */
export const CHILD_KINDS: readonly [CallKind, ...CallKind[]] = [
  echo('child'),
  slow('child', 20, 1500, short),
  ask('child'),
  sample('child'),
];

export function kindOf(server: string, tool: string): CallKind | undefined {
  return [...CALL_KINDS, ...CHILD_KINDS].find((kind) => kind.server === server && kind.tool === tool);
}
