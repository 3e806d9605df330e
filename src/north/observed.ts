import { requestOf } from '../core/interaction/link.ts';
import type { Observer } from '../core/observer.ts';
import type { Session } from '../core/session/session.ts';
import { metaOf } from '../lib/meta.ts';
import { VERSION_KEY } from '../lib/protocol.ts';
import { withTraceContext } from '../lib/trace-context.ts';
import { isObject } from '../lib/values.ts';
import { failureOf, type ClientRequest } from './client-request.ts';
import type { Params, RequestId } from './message.ts';

type Work = (params: Params) => Promise<Params>;

/** Handles a client request under the access of its own token, and reports it to the observer, if any. */
export function observed(
  session: Session,
  { id, method }: Pick<ClientRequest, 'id' | 'method'>,
  params: Params,
  work: Work,
): Promise<Params> {
  const { observer } = session.observed;
  const leave = session.access?.hold();
  const working = observer === undefined ? work(params) : watched(observer, session, id, method, params, work);
  return leave === undefined ? working : working.finally(leave);
}

async function watched(
  observer: Observer,
  session: Session,
  id: RequestId,
  method: string,
  params: Params,
  work: Work,
): Promise<Params> {
  const version = session.client?.protocolVersion ?? metaOf(params)[VERSION_KEY];
  const operation = observer.clientRequest({
    id,
    method,
    params,
    view: session.view.kind,
    protocolVersion: typeof version === 'string' ? version : undefined,
    taskTrace: () => traceOfTask(session, method, params),
  });
  try {
    const result = await work(withTraceContext(params, operation.context));
    operation.end(result['isError'] === true ? 'tool_error' : undefined);
    return result;
  } catch (error) {
    operation.end(String(failureOf(error).code));
    throw error;
  }
}

/** A request that polls, answers or cancels a task names it, or a question of it. */
function traceOfTask({ tasks, interactions }: Session, method: string, params: Params): string | undefined {
  const { arguments: args } = params;
  const { task_id, request_id } = method === 'tools/call' && isObject(args) ? args : {};
  const question = typeof request_id === 'string' ? interactions.find(request_id) : undefined;
  const taskId = question === undefined ? (params['taskId'] ?? task_id) : requestOf(question.link)?.taskId;
  return typeof taskId === 'string' ? tasks.find(taskId)?.trace : undefined;
}
