/**
 * What a hub client sees: the tasks and questions of its own session, the tasks of the same principal at the native
 * endpoints, and the questions there that no responder presents.
 */

import type { Gateway } from '../../core/gateway.ts';
import type { Interaction, InteractionKind } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { requestOf } from '../../core/interaction/link.ts';
import { questionNotFound } from '../../core/interaction/router.ts';
import { taskNotFound } from '../../core/task/book.ts';
import type { Task } from '../../core/task/task.ts';
import type { ToolContext } from './tool.ts';

export interface Visible {
  gateway: Gateway;
  session: Session;
}

/**
 * The session that a task belongs to; the client's own if there is no such task. A client that knows the id also reaches the
 * tasks of other programs of the same principal, whose state it does not see otherwise.
 */
export async function ownerOfTask(context: ToolContext, taskId: string): Promise<Session> {
  const { gateway, session } = context;
  const has = ({ tasks }: Session): boolean => tasks.find(taskId) !== undefined;
  const owner = has(session)
    ? session
    : (nativeSessions(context).find(has) ??
      (await gateway.otherStates(session)).find(has) ??
      (await nativeSessionWith(context, 'task', taskId)) ??
      session);
  const task = owner.tasks.find(taskId);
  if (task !== undefined && !session.mayCall(task.server, task.tool)) throw taskNotFound(taskId);
  if (owner !== session) (context.alsoReports ??= []).push(owner);
  return owner;
}

/** Whether the client may see a question. `owner`: its session, if it is at this gateway. */
export function mayKnow(session: Session, { server, approval, link }: Interaction, owner?: Session): boolean {
  if (session.access === undefined) return true;
  const { callId = '', taskId = '' } = requestOf(link) ?? {};
  const tool = approval?.tool ?? owner?.tasks.find(taskId)?.tool ?? owner?.calls.toolOf(callId);
  return tool === undefined ? session.sees(server) : session.mayCall(server, tool);
}

/** Looks up a session that is not in memory; throws if another gateway owns it. */
async function nativeSessionWith(
  { gateway, session }: Visible,
  kind: 'task' | 'question',
  id: string,
): Promise<Session | undefined> {
  return session.view.kind === 'hub' ? gateway.nativeSessionWith(kind, id, session.principal) : undefined;
}

export function tasksIn(visible: Visible): Task[] {
  const { gateway, session } = visible;
  const tasks = [...session.tasks.list(), ...(session.view.kind === 'hub' ? nativeTasks(gateway, session) : [])];
  return session.access === undefined ? tasks : tasks.filter((task) => session.mayCall(task.server, task.tool));
}

export function nativeTasks(gateway: Gateway, whose: Pick<Session, 'principal'>): Task[] {
  return [...gateway.nativeSessionsOf(whose)].flatMap(({ tasks }) => tasks.list());
}

/** The session that an open question belongs to, as for tasks. */
export async function ownerOfQuestion(visible: Visible, id: string): Promise<Session> {
  const owner = await findOwner(visible, id);
  const question = owner.interactions.find(id);
  if (question !== undefined && !mayKnow(visible.session, question, owner)) throw questionNotFound(id, question.kind);
  return owner;
}

async function findOwner(visible: Visible, id: string): Promise<Session> {
  const { gateway, session } = visible;
  if (session.interactions.find(id) !== undefined) return session;
  const direct = nativeSessions(visible).find((other) => isLeft(other, other.interactions.find(id)));
  if (direct !== undefined) return direct;
  const isOpen = (other: Session): boolean =>
    ownQuestions({ gateway, session: other }, 'elicitation')
      .concat(ownQuestions({ gateway, session: other }, 'sampling'))
      .some((question) => question.id === id);
  return (
    (await gateway.otherStates(session)).find(isOpen) ?? (await nativeSessionWith(visible, 'question', id)) ?? session
  );
}

export function questionsIn(visible: Visible, kind: InteractionKind, server?: string): Interaction[] {
  const { gateway, session } = visible;
  const left = session.view.kind === 'hub' ? leftQuestions(gateway, session, kind, server, session) : [];
  return [...ownQuestions(visible, kind, server), ...left];
}

/** The unclaimed questions of native clients; with `reader`, only those that it may see. */
export function leftQuestions(
  gateway: Gateway,
  whose: Pick<Session, 'principal'>,
  kind: InteractionKind,
  server?: string,
  reader?: Session,
): Interaction[] {
  return [...gateway.nativeSessionsOf(whose)].flatMap((other) =>
    other.interactions
      .list(kind, server)
      .filter((question) => isLeft(other, question) && (reader === undefined || mayKnow(reader, question, other))),
  );
}

/** The questions of the client's own calls; if it answers questions itself, only those that it is not being asked. */
export function ownQuestions({ gateway, session }: Visible, kind: InteractionKind, server?: string): Interaction[] {
  const all = session.interactions.list(kind, server).filter((question) => mayKnow(session, question, session));
  return gateway.settings.questions.via === 'native' ? all.filter((question) => isLeft(session, question)) : all;
}

/** A quick check whether there may be questions. */
export function anyQuestions(visible: Visible): boolean {
  const { gateway, session } = visible;
  return session.interactions.size > 0 || (session.view.kind === 'hub' && gateway.anyNativeQuestions(session));
}

/**
 * The native sessions whose tasks and unclaimed questions the hub shows. A group client uses hub tools for itself
 * only: it must not see servers outside of its group.
 */
export function nativeSessions({ gateway, session }: Visible): Session[] {
  return session.view.kind === 'hub' ? [...gateway.nativeSessionsOf(session)] : [];
}

/** Whether no responder presents the question to its client. */
function isLeft({ interactions }: Session, question: Interaction | undefined): boolean {
  return question !== undefined && !interactions.isClaimed(question.id);
}
