import type { QuestionKind } from '../core/question/question.ts';

const KINDS: Record<string, QuestionKind> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
};

export function questionKind(method: string): QuestionKind | undefined {
  return Object.hasOwn(KINDS, method) ? KINDS[method] : undefined;
}
