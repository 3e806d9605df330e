import type { Client, JSONRPCRequest } from '@modelcontextprotocol/client';
import type { ConnectionSink } from '../core/ports.ts';
import type { Answer } from '../core/question/question.ts';
import { messageOf } from '../lib/log.ts';
import { questionKind } from './questions.ts';
import { takeOrigin } from './transport/origin.ts';

/** An error that goes back to the server with its code. */
class PeerError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Hands on what a server says unasked: questions, notifications and logs. `onlyCall` is the call that is alone on the
 * connection, if one is.
 */
export function hear(client: Client, sink: ConnectionSink, onlyCall: () => string | undefined): void {
  client.fallbackRequestHandler = async (request, { mcpReq }) => asked(request, mcpReq.signal, sink, onlyCall);
  client.fallbackNotificationHandler = async ({ method, params = {} }) => {
    if (method === 'notifications/message') logged(params, sink);
    else sink.notification(method, params);
  };
}

async function asked(
  { method, params: given = {} }: JSONRPCRequest,
  withdrawn: AbortSignal,
  sink: ConnectionSink,
  onlyCall: () => string | undefined,
): Promise<Answer> {
  const kind = questionKind(method);
  if (kind === undefined) throw new PeerError(-32601, `Method not found: ${method}`);
  const { params, callId } = takeOrigin(given);
  // A stream of its own is proof; without one, only a single call in flight leaves no doubt.
  const certain = callId ?? onlyCall();
  try {
    return await sink.question({ kind, params, withdrawn, ...(certain !== undefined && { callId: certain }) });
  } catch (error) {
    throw new PeerError(-32000, messageOf(error));
  }
}

function logged({ level, logger, data }: Record<string, unknown>, sink: ConnectionSink): void {
  sink.log({
    level: typeof level === 'string' ? level : 'info',
    source: 'protocol',
    data,
    ...(typeof logger === 'string' && { logger }),
  });
}
