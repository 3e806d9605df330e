/** The relation between an interaction and the calls and tasks that may have asked it. */

/** A call and its task. */
export interface CallRef {
  /** The id of the call on its connection; absent after a restart, when only the task is left. */
  callId?: string;
  taskId?: string;
}

/**
 * How certain it is which call asked:
 * - `certain`: this one did.
 * - `possible`: one of `calls`, or with `others` a request other than a call.
 * - `none`: no call did.
 *
 * `host` is the request through which the client is asked although another one may have asked.
 */
export type Link =
  | { certainty: 'certain'; by: CallRef }
  | { certainty: 'possible'; calls: CallRef[]; others: boolean; host?: CallRef }
  | { certainty: 'none'; host?: CallRef };

/** The request through which the client gets the question, if that is certain. */
export function requestOf(link: Link): CallRef | undefined {
  return link.certainty === 'certain' ? link.by : link.host;
}

/** Whether the call asked, may have asked, or hosts. */
export function mentionsCall(link: Link, callId: string): boolean {
  if (requestOf(link)?.callId === callId) return true;
  return link.certainty === 'possible' && link.calls.some((call) => call.callId === callId);
}

/** The tasks that wait for the answer, and whether they certainly do. */
export function blockedTasks(link: Link): Map<string, Blocking> {
  const blocked = new Map<string, Blocking>();
  if (link.certainty === 'possible') for (const { taskId } of link.calls) if (taskId) blocked.set(taskId, 'possible');
  const { taskId } = requestOf(link) ?? {};
  if (taskId !== undefined) blocked.set(taskId, 'certain');
  return blocked;
}

export type Blocking = 'certain' | 'possible';

/** The link after a call has become a task. */
export function promoteInLink(link: Link, callId: string, taskId: string): Link {
  const promoted = (call: CallRef): CallRef => (call.callId === callId ? { ...call, taskId } : call);
  switch (link.certainty) {
    case 'certain':
      return { ...link, by: promoted(link.by) };
    case 'possible':
      return { ...link, calls: link.calls.map(promoted), ...(link.host && { host: promoted(link.host) }) };
    case 'none':
      return { ...link, ...(link.host && { host: promoted(link.host) }) };
  }
}

export function withHost(link: Exclude<Link, { certainty: 'certain' }>, host: CallRef | undefined): Link {
  const { host: _before, ...rest } = link;
  return host === undefined ? rest : { ...rest, host };
}
