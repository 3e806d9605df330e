import type { Caller, CallRequest } from '../../core/call/request.ts';
import { askClient } from '../asking/ask-client.ts';
import { canBeAsked } from '../asking/asking.ts';
import type { AskingByRequest } from './asking.ts';
import { callReply } from './call-reply.ts';
import { leaveOut } from './reply.ts';
import type { ToolContext, ToolReply } from './tool.ts';

/** Makes a call. While its request is open, a client that takes requests is asked with such what the call asks. */
export async function execute(context: ToolContext, request: CallRequest): Promise<ToolReply> {
  const { session, exchange, onProgress, asking } = context;
  const asked = new Set<unknown>();
  const caller: Caller = {
    onLeaving: (listener) => exchange.onLeaving(listener),
    onProgress,
    ...(asking?.by === 'request' && askedBy(context, asking, asked)),
  };
  const reply = await session.calls.execute(session.connection(request.server), request, caller);
  if (asked.size > 0) {
    const isOver = (id: unknown): boolean => session.questions.find(String(id)) === undefined;
    leaveOut(context, ({ data: { requestId } }) => asked.has(requestId) && isOver(requestId));
  }
  return callReply(context, request, reply);
}

function askedBy(
  { session: { questions }, gateway: { store } }: ToolContext,
  { capabilities, server, on }: AskingByRequest,
  asked: Set<unknown>,
): Pick<Caller, 'desk' | 'holdsFor'> {
  return {
    holdsFor: (question) => canBeAsked(capabilities, question),
    desk: (question, over) => {
      if (!canBeAsked(capabilities, question)) return false;
      asked.add(question.id);
      void askClient(question, over, { server, questions, store, where: () => ({ on }) });
      return true;
    },
  };
}
