import type { InteractionKind } from './interaction.ts';

/** The method of each kind of interaction on the wire. */
export const METHODS: Readonly<Record<InteractionKind, string>> = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};

const KINDS = new Map(Object.entries(METHODS).map(([kind, method]) => [method, kind as InteractionKind]));

export function kindOf(method: unknown): InteractionKind | undefined {
  return KINDS.get(String(method));
}
