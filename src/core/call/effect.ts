import type { Question } from '../question/question.ts';
import type { LiveCall } from './live-call.ts';
import type { QuestionEffect } from './request.ts';

/** What the question does to the open request of the call. */
export function effectOn({ caller }: LiveCall, question: Question): QuestionEffect {
  return caller.effectOf?.(question) ?? 'promote';
}

export function becomesTask(effect: QuestionEffect): boolean {
  return effect === 'reply' || effect === 'promote';
}
