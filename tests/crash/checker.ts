/** Compares what clients were told with what holds in the end. Each line it returns is a promise that was broken. */
import { checkEvents, checkEventsOfTasks, checkIncreasing, checkNotifications, checkOrder } from './check/events.ts';
import { Faults } from './check/faults.ts';
import { groupBy } from './check/group.ts';
import { checkIds, checkQuestions } from './check/questions.ts';
import { checkSeparation } from './check/separation.ts';
import { checkServers } from './check/servers.ts';
import { answeredOnly, eventStories, hasEnded, questionStories, taskStories } from './check/stories.ts';
import { checkCalls, checkFailures, checkOutcomes, checkStuck, checkTasks } from './check/tasks.ts';
import type { History } from './history.ts';
import type { Seen } from './servers.ts';

export interface Verdict {
  violations: string[];
  /** How much there was to check. */
  counts: Record<string, number>;
}

export function check({ exchanges, refusals, faults: done, mishaps, stuck }: History, seen: Seen): Verdict {
  const faults = new Faults([...done, ...mishaps]);
  const answered = answeredOnly(exchanges);
  const tasks = taskStories(exchanges, answered);
  const questions = questionStories(exchanges, answered);
  const events = eventStories(answered);
  const violations = [
    ...refusals.map(({ client, what }) => `${client}: ${what}`),
    ...checkSeparation(answered),
    ...checkCalls(answered, faults),
    ...checkFailures(exchanges, faults),
    ...checkTasks(tasks),
    ...checkOutcomes(tasks, questions, faults, seen),
    ...checkStuck(tasks, questions, stuck),
    ...checkEvents(events, answered, faults),
    ...checkOrder(answered),
    ...checkIncreasing(tasks, events, answered),
    ...checkEventsOfTasks(tasks, events),
    ...checkNotifications(exchanges, events, faults),
    ...checkQuestions(questions, events),
    ...checkIds(questions),
    ...checkServers(exchanges, seen),
  ];
  const ends = groupBy(tasks, ({ states }) => states.find(({ status }) => hasEnded(status))?.status ?? 'working');
  const tellings = events.flatMap((event) => event.tellings);
  const counts = {
    faults: done.length,
    ...Object.fromEntries([...groupBy(done, ({ kind }) => kind)].map(([kind, of]) => [kind, of.length])),
    ...(mishaps.length > 0 && { lapses: mishaps.length }),
    requests: exchanges.length,
    unanswered: exchanges.length - answered.length,
    tasks: tasks.length,
    ...Object.fromEntries([...ends].map(([end, of]) => [end, of.length])),
    stuck: stuck.size,
    questions: questions.length,
    answers: questions.flatMap(({ attempts }) => attempts).filter(({ acknowledged }) => acknowledged).length,
    events: events.length,
    toldAgain: tellings.length - events.length,
  };
  return { violations, counts };
}
