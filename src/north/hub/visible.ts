/**
 * What a client of the hub can see and do. Its own session first; and what the clients of single servers, if they are the
 * same one's, left behind or cannot be asked: tasks, and questions that lie on no desk.
 */

import type { Gateway } from '../../core/gateway.ts';
import type { Interaction, InteractionKind } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import type { Task } from '../../core/task/task.ts';

export interface Visible {
  gateway: Gateway;
  session: Session;
}

/**
 * The session that a task belongs to; its own if there is no such task, which then tells so. A client that knows the id also
 * reaches the tasks of other programs of the same principal, whose state it does not see otherwise.
 */
export async function ownerOfTask(visible: Visible, taskId: string): Promise<Session> {
  const { gateway, session } = visible;
  const has = ({ tasks }: Session): boolean => tasks.find(taskId) !== undefined;
  if (has(session)) return session;
  return others(visible).find(has) ?? (await gateway.otherStates(session)).find(has) ?? session;
}

export function tasksIn(visible: Visible): Task[] {
  return [...visible.session.tasks.list(), ...others(visible).flatMap(({ tasks }) => tasks.list())];
}

export function tasksAtWork(visible: Visible): Task[] {
  return [...visible.session.tasks.atWork(), ...others(visible).flatMap(({ tasks }) => tasks.atWork())];
}

/** The session that an open question belongs to, as for tasks. */
export async function ownerOfQuestion(visible: Visible, id: string): Promise<Session> {
  const { gateway, session } = visible;
  if (session.interactions.find(id) !== undefined) return session;
  const direct = others(visible).find((other) => isLeft(other, other.interactions.find(id)));
  if (direct !== undefined) return direct;
  const isOpen = (other: Session): boolean =>
    ownQuestions({ gateway, session: other }, 'elicitation')
      .concat(ownQuestions({ gateway, session: other }, 'sampling'))
      .some((question) => question.id === id);
  return (await gateway.otherStates(session)).find(isOpen) ?? session;
}

export function questionsIn(visible: Visible, kind: InteractionKind, server?: string): Interaction[] {
  const left = others(visible).flatMap((other) =>
    other.interactions.list(kind, server).filter((question) => isLeft(other, question)),
  );
  return [...ownQuestions(visible, kind, server), ...left];
}

/** What the client's own calls ask; where it answers that itself, only what does not lie before it. */
export function ownQuestions({ gateway, session }: Visible, kind: InteractionKind, server?: string): Interaction[] {
  const all = session.interactions.list(kind, server);
  return gateway.settings.questions.via === 'native' ? all.filter((question) => isLeft(session, question)) : all;
}

/** Whether anything may wait for the client; for the many replies for which nothing does. */
export function anyQuestions(visible: Visible): boolean {
  return visible.session.interactions.size > 0 || others(visible).some(({ interactions }) => interactions.size > 0);
}

/** Resolves when everything is stored that a reply may tell of. */
export async function settledIn(visible: Visible): Promise<void> {
  await Promise.all([visible.session.settled(), ...others(visible).map((other) => other.settled())]);
}

function others({ gateway, session }: Visible): Session[] {
  return [...gateway.directSessionsOf(session)].filter((other) => other !== session);
}

/** Nobody puts it before the client that it is for. */
function isLeft({ interactions }: Session, question: Interaction | undefined): boolean {
  return question !== undefined && !interactions.isClaimed(question.id);
}
