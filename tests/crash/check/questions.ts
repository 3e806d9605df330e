/** No answer is taken twice, and what was answered is not asked again. */
import type { ToldQuestion } from '../told.ts';
import { groupBy } from './group.ts';
import { firstTold, type EventStory, type QuestionStory } from './stories.ts';

export function checkQuestions(questions: readonly QuestionStory[], events: readonly EventStory[]): string[] {
  const announced = groupBy(events, ({ event }) => `${event.type} ${String(event.data['requestId'])}`);
  return questions.flatMap((story) => {
    const { question, tellings } = story;
    const { id, kind } = question;
    const begun = announced.get(`${kind}_request ${id}`)?.length ?? 0;
    const taken = story.attempts.filter(({ acknowledged }) => acknowledged);
    const since = taken[0]?.received ?? Infinity;
    const again = questions.find((other) => other !== story && isSame(other, story) && firstTold(other) > since);
    const wrong = [
      begun > 1 && `has ${begun} events that tell of it`,
      taken.length > 1 && `took ${taken.length} answers`,
      tellings.some(({ sent }) => sent > since) && 'was answered, and asked again',
      again && `was answered, and asked again as ${again.question.id}`,
      taken.length > 0 && announced.has(`${kind}_expired ${id}`) && 'was answered, and expired',
    ];
    return wrong.filter((what) => typeof what === 'string').map((what) => `${nameOf(story)} ${what}`);
  });
}

/** Those that outlive a restart keep their id. */
export function checkIds(questions: readonly QuestionStory[]): string[] {
  const outlive = questions.filter(
    ({ question }) => question.server !== 'plain' && question.server !== 'child' && question.taskId !== undefined,
  );
  return [...groupBy(outlive, keyOf).values()].flatMap(([first, ...others]) =>
    first === undefined || others.length === 0
      ? []
      : [`${nameOf(first)} is also asked as ${others.map(({ question }) => question.id).join(', ')}`],
  );
}

function nameOf({ client, question: { id, server, message } }: QuestionStory): string {
  return `${client}: question ${id} (${server}: ${message})`;
}

function isSame(a: QuestionStory, b: QuestionStory): boolean {
  return a.question.taskId !== undefined && keyOf(a) === keyOf(b);
}

function keyOf({ question: { taskId, kind, message } }: { question: ToldQuestion }): string {
  return `${taskId} ${kind} ${message}`;
}
