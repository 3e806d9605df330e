/**
 * Which call asked, and through which request the client is asked. Pure functions of the link and of the calls that are
 * open at the server.
 *
 * If it is unknown which call asked, a client that can be asked is asked through one of its calls, and the others wait. If
 * it cannot be asked, all calls that may have asked become tasks, because only a reply can show the question. Once
 * only one of them is left, the question belongs to it.
 */
import { mentionsCall, requestOf, withHost, type CallRef, type Link } from './link.ts';

/**
 * What a question does to the open request of a call that asks:
 * - `ask`: the client is asked while the request stays open.
 * - `reply`: the call becomes a task, and the client gets the question instead of the result.
 * - `wait`: the client cannot be asked; the request stays open, and the question is answered elsewhere.
 * - `promote`: the client cannot be asked; the call becomes a task, and the reply shows the question.
 */
export type QuestionEffect = 'ask' | 'reply' | 'wait' | 'promote';

/** An open call, as seen by a question of its server. */
export interface OpenCall extends Required<Pick<CallRef, 'callId'>>, Pick<CallRef, 'taskId'> {
  /** What the question does to it. */
  effect: QuestionEffect;
  /** Its client is waiting for the reply. */
  waiting: boolean;
  /** It does not depend on its connection, so a question on the connection cannot be its own. */
  detached: boolean;
  /** It already has an open question. */
  asking: boolean;
  /** Its client has abandoned it. */
  abandoned: boolean;
}

/** The requests of the client through which it can be asked. */
export interface Surroundings {
  calls: readonly OpenCall[];
  /** Ids of open requests other than calls that can host a question. */
  hosts: readonly string[];
  /** The client receives questions only through its own requests, so each question needs one as its host. */
  needsHost: boolean;
}

export interface Attribution {
  link: Link;
  /** Calls that have to become tasks. */
  promote: string[];
}

export function attribute(link: Link, around: Surroundings): Attribution {
  if (link.certainty === 'certain') return owned(link.by, around);
  const live = withLiveCalls(link, around);
  const only = onlyCall(live);
  if (only !== undefined) return owned(only, around);
  if (live.certainty === 'certain') return { link: live, promote: [] };
  return around.needsHost ? hosted(live, around) : reachable(live, around);
}

/** `presented`: the client got the question with the call that ended, and may return with the answer. */
export function afterCallEnded(
  link: Link,
  callId: string,
  around: Surroundings,
  presented: boolean,
): Attribution | undefined {
  if (link.certainty === 'certain' || !mentionsCall(link, callId)) return undefined;
  const wasHost = link.host?.callId === callId;
  if (around.needsHost) {
    if (!wasHost) return undefined;
    const next = hosted(withHost(link, undefined), around);
    // The client may not return; other waiting calls are asked too, and the first answer counts.
    return presented && requestOf(next.link) === undefined ? undefined : next;
  }
  return afterFewer(wasHost ? withHost(link, undefined) : link, around, wasHost && presented);
}

/** The requests other than calls that may have asked have ended. `undefined`: no possible asker is left. */
export function afterOthersEnded(link: Link, around: Surroundings): Attribution | undefined {
  if (link.certainty !== 'possible' || around.needsHost) return { link, promote: [] };
  return link.calls.length === 0 ? undefined : afterFewer({ ...link, others: false }, around, false);
}

/** Whether the question survives when the call through which its client gets it is stopped. */
export function outlivesCall(link: Link, callId: string, around: Surroundings): boolean {
  if (link.certainty === 'certain') return false;
  if (around.needsHost) return chooseHost(without(around, callId)) !== undefined;
  const open = new Set(around.calls.map((call) => call.callId));
  const isOther = (call: CallRef): boolean => call.callId !== callId && open.has(call.callId ?? '');
  return link.certainty === 'possible' && (link.others || link.calls.some(isOther));
}

/** The request through which to ask the client a question that belongs to none. */
export function chooseHost({ calls, hosts }: Surroundings): CallRef | undefined {
  const able = calls.filter(({ detached }) => !detached);
  const free = able.filter(({ asking }) => !asking);
  const waiting = free.filter((call) => call.waiting);
  // A call that would stay open despite the question has a client that cannot be asked.
  const asked = waiting.find(({ effect }) => becomesTask(effect)) ?? waiting[0];
  if (asked !== undefined) return refTo(asked);
  const [request] = hosts;
  if (request !== undefined) return { callId: request };
  const left = free.find(({ taskId, abandoned }) => taskId === undefined || !abandoned) ?? able.at(-1);
  return left && refTo(left);
}

export function becomesTask(effect: QuestionEffect): boolean {
  return effect === 'reply' || effect === 'promote';
}

function owned(by: CallRef, { calls }: Surroundings): Attribution {
  if (by.taskId !== undefined) return { link: { certainty: 'certain', by }, promote: [] };
  const call = calls.find(({ callId }) => callId === by.callId);
  // Do not wait for a timeout with a question that can be answered now.
  const promote = call !== undefined && becomesTask(call.effect) ? [call.callId] : [];
  return { link: { certainty: 'certain', by: call ? refTo(call) : by }, promote };
}

function hosted(link: Link, around: Surroundings): Attribution {
  if (link.certainty === 'certain') return { link, promote: [] };
  const host = chooseHost(around);
  const call = around.calls.find(({ callId }) => callId === host?.callId);
  const promote = call !== undefined && becomesTask(call.effect) ? [call.callId] : [];
  return { link: withHost(link, host), promote };
}

/** Ensures that the client gets the question, whichever of its calls asked. */
function reachable(link: Exclude<Link, { certainty: 'certain' }>, around: Surroundings): Attribution {
  const ids = new Set(link.certainty === 'possible' ? link.calls.map(({ callId }) => callId) : []);
  const waiting = around.calls.filter((call) => ids.has(call.callId) && call.waiting);
  const on = (effect: QuestionEffect): OpenCall[] => waiting.filter((call) => call.effect === effect);
  if (on('ask').length > 0) return { link, promote: [] };
  const [host] = on('reply');
  if (host === undefined) return { link, promote: on('promote').map(({ callId }) => callId) };
  return { link: withHost(link, refTo(host)), promote: [host.callId] };
}

function afterFewer(link: Link, around: Surroundings, beingAnswered: boolean): Attribution {
  const left = withLiveCalls(link, around);
  const only = onlyCall(left);
  if (only !== undefined) {
    return beingAnswered ? { link: { certainty: 'certain', by: only }, promote: [] } : owned(only, around);
  }
  if (left.certainty === 'certain' || left.host !== undefined || beingAnswered) return { link: left, promote: [] };
  return reachable(left, around);
}

function withLiveCalls(link: Link, { calls }: Surroundings): Link {
  if (link.certainty !== 'possible') return link;
  const live = link.calls.flatMap(({ callId }) => calls.find((call) => call.callId === callId) ?? []).map(refTo);
  if (live.length > 0 || link.others) return { ...link, calls: live };
  return withHost({ certainty: 'none' }, link.host);
}

function onlyCall(link: Link): CallRef | undefined {
  if (link.certainty !== 'possible' || link.others) return undefined;
  const [only, ...more] = link.calls;
  return more.length === 0 ? only : undefined;
}

function without(around: Surroundings, callId: string): Surroundings {
  return { ...around, calls: around.calls.filter((call) => call.callId !== callId) };
}

function refTo({ callId, taskId }: OpenCall): CallRef {
  return { callId, ...(taskId !== undefined && { taskId }) };
}
