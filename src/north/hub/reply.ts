import { GatewayError } from '../../core/errors.ts';
import type { EventType, SessionEvent } from '../../core/event/event.ts';
import type { Session } from '../../core/session/session.ts';
import type { Delivery } from '../../core/event/log.ts';
import { messageOf } from '../../lib/log.ts';
import { passOn, type Reply } from '../commit-gate.ts';
import { jsonBlock, own, type ContentBlock, type ToolContext, type ToolReply, type ToolResult } from './tool.ts';
import { eventView, pendingClientAction } from './views.ts';
import { nativeSessions } from './visible.ts';

/**
 * Builds all hub replies: adds undelivered events and open questions to the result. The events count as delivered
 * only when the reply has arrived. `answered`: whether the reply shows that a server is connected.
 */
export function buildReply(
  context: ToolContext,
  reply: ToolReply,
  answered: (server: string) => boolean = () => false,
): Reply {
  const { session, exchange, reader } = context;
  // A round cannot carry events: they are sent with the final reply.
  if (reply.kind === 'round') return reporting(context, reply.result);
  const { kind, result } = reply;
  const delivery = exchange.open ? session.events.take(eventsFor(context, result, answered), reader) : undefined;
  const pending = exchange.open || exchange.resumable ? pendingClientAction(context) : undefined;
  if (kind === 'passed_on' && pending === undefined && (delivery?.events.length ?? 0) === 0) return passOn(result);
  const waiting = pending ? [jsonBlock({ pending_client_action: pending })] : [];
  const blocks = [...newEvents(delivery, [...result.content, ...waiting]), ...waiting];
  let stored = true;
  if (delivery) exchange.whenSettled((delivered) => delivery.settle(delivered && stored, exchange.mayHaveArrived));
  const otherwise = (error: GatewayError): ToolResult => {
    stored = false;
    return kind === 'passed_on' ? result : notStored(context, error, reply.ifNotStored);
  };
  const whole = blocks.length === 0 ? result : { ...result, content: [...result.content, ...blocks] };
  return { ...reporting(context, whole), otherwise };
}

function reporting(context: ToolContext, result: Record<string, unknown>): Reply {
  const reports = [context.session, ...nativeSessions(context), ...(context.alsoReports ?? [])];
  return { result, reports, otherwise: (error) => notStored(context, error) };
}

/** Events that only announce a task or a question, and the field with its id. */
const SHOWN_BY: Partial<Record<EventType, string>> = {
  task_created: 'taskId',
  elicitation_request: 'requestId',
  sampling_request: 'requestId',
};

/** Whether the client may see the event. */
export function mayHear({ access, tasks }: Session, { server, data }: SessionEvent): boolean {
  if (access === undefined) return true;
  const { taskId, toolName } = data;
  const tool = typeof taskId === 'string' ? (tasks.find(taskId)?.tool ?? toolName) : toolName;
  return typeof tool === 'string' ? access.mayCall(server, tool) : access.sees(server);
}

/** The events that add information to the reply; the others also count as delivered. */
function newEvents(delivery: Delivery | undefined, rest: readonly ContentBlock[]): ContentBlock[] {
  const shows = (id: unknown): boolean =>
    rest.some(({ text }) => typeof text === 'string' && text.includes(String(id)));
  const events = (delivery?.events ?? []).filter(({ type, data }) => {
    const id = SHOWN_BY[type];
    return type !== 'server_connected' && !(id !== undefined && shows(data[id]));
  });
  return events.length === 0 ? [] : [jsonBlock({ events_since_last_response: events.map(eventView) })];
}

/**
 * The events that a reply delivers. If a result has `structuredContent`, several clients show the model nothing else, so
 * events wait for the next reply. `server_connected` is delivered with the server's own answers, and otherwise only by
 * `await_activity`: most clients do not need to know.
 */
function eventsFor(
  { session }: ToolContext,
  result: ToolResult,
  answered: (server: string) => boolean,
): (event: SessionEvent) => boolean {
  const canShow = result['structuredContent'] === undefined;
  return (event) => (event.type === 'server_connected' ? answered(event.server) : canShow) && mayHear(session, event);
}

function notStored({ exchange }: ToolContext, error: GatewayError, hint?: string): ToolResult {
  exchange.settle(false);
  return errorResult(hint === undefined ? error : new GatewayError(error.code, `${error.message}; ${hint}`));
}

/** Omits events that the client already knows. They count as delivered if the reply does. */
export function leaveOut(context: ToolContext, matching: (event: SessionEvent) => boolean): void {
  settleWith(context, context.session.events.takeForEveryone(matching, context.reader));
}

/** The events of `delivery` count as delivered if the reply does. */
export function settleWith({ exchange }: ToolContext, delivery: Delivery): void {
  exchange.whenSettled((delivered) => delivery.settle(delivered, exchange.mayHaveArrived));
}

export function errorReply(error: unknown): ToolReply {
  return own(errorResult(error));
}

function errorResult(error: unknown): ToolResult {
  const { code, message, details } =
    error instanceof GatewayError ? error : new GatewayError('TOOL_ERR_INTERNAL', messageOf(error));
  return { content: [jsonBlock({ error: { code, message, ...(details && { details }) } })], isError: true };
}
