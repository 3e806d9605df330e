/**
 * What a client of the hub can see and do. Its own session first; and what the clients of single servers, if they are the
 * same one's, left behind or cannot be asked: tasks, and questions that lie on no desk.
 */

import type { Gateway } from '../../core/gateway.ts';
import type { Question, QuestionKind } from '../../core/question/question.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';

export interface Reach {
  gateway: Gateway;
  session: Session;
}

/** The session that a task belongs to; its own if there is no such task, which then tells so. */
export function ownerOfTask(reach: Reach, taskId: string): Session {
  return others(reach).find(({ tasks }) => tasks.find(taskId) !== undefined) ?? reach.session;
}

export function tasksIn(reach: Reach): Task[] {
  return [...reach.session.tasks.list(), ...others(reach).flatMap(({ tasks }) => tasks.list())];
}

export function tasksAtWork(reach: Reach): Task[] {
  return [...reach.session.tasks.atWork(), ...others(reach).flatMap(({ tasks }) => tasks.atWork())];
}

/** The session that an open question belongs to; its own if there is no such question, which then tells so. */
export function ownerOfQuestion(reach: Reach, id: string): Session {
  return others(reach).find((other) => isLeft(other, other.questions.find(id))) ?? reach.session;
}

export function questionsIn(reach: Reach, kind: QuestionKind, server?: string): Question[] {
  const left = others(reach).flatMap((other) =>
    other.questions.list(kind, server).filter((question) => isLeft(other, question)),
  );
  return [...ownQuestions(reach, kind, server), ...left];
}

/** What the client's own calls ask; where it answers that itself, only what does not lie before it. */
export function ownQuestions({ gateway, session }: Reach, kind: QuestionKind, server?: string): Question[] {
  const all = session.questions.list(kind, server);
  return gateway.settings.questions.via === 'native' ? all.filter((question) => isLeft(session, question)) : all;
}

/** Whether anything may wait for the client; for the many replies for which nothing does. */
export function anyQuestions(reach: Reach): boolean {
  return reach.session.questions.size > 0 || others(reach).some(({ questions }) => questions.size > 0);
}

function others({ gateway, session }: Reach): Session[] {
  return [...gateway.looksAfter(session)].filter((other) => other !== session);
}

/** Nobody puts it before the client that it is for. */
function isLeft({ questions }: Session, question: Question | undefined): boolean {
  return question !== undefined && !questions.desks.isAttended(question.id);
}
