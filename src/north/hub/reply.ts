import { GatewayError } from '../../core/errors.ts';
import type { EventType, SessionEvent } from '../../core/event/event.ts';
import type { Delivery } from '../../core/event/log.ts';
import { messageOf } from '../../lib/log.ts';
import { settledIn } from './visible.ts';
import { jsonBlock, Round, type ContentBlock, type ToolContext, type ToolReply } from './tool.ts';
import { eventView, pendingClientAction } from './views.ts';

/** Replies that are a server's own: they tell nothing of ours, so nothing has to be stored before they leave. */
const notOurs = new WeakSet<ToolReply>();

export function passedOn(reply: ToolReply): ToolReply {
  notOurs.add(reply);
  return reply;
}

/**
 * The one way a hub reply is made. Events that nobody has seen ride along, and so does all that waits for the client.
 * The reply leaves only when everything it tells is safely stored; its events count as delivered only when it arrived.
 * `answered` tells which servers the reply shows to be connected.
 */
export async function buildReply(
  context: ToolContext,
  body: ToolReply | Round,
  answered: (server: string) => boolean = () => false,
): Promise<Record<string, unknown>> {
  const { session, exchange, reader } = context;
  if (body instanceof Round) return roundReply(context, body);
  const delivery = exchange.open ? session.events.take(eventsFor(body, answered), reader) : undefined;
  const pending = exchange.open || exchange.resumable ? pendingClientAction(context) : undefined;
  if (notOurs.has(body) && pending === undefined && (delivery?.events.length ?? 0) === 0) return body;
  try {
    await settledIn(context);
  } catch (error) {
    delivery?.settle(false);
    return notOurs.has(body) ? body : notStored(context, error);
  }
  const waiting = pending ? [jsonBlock({ pending_client_action: pending })] : [];
  const blocks = [...eventBlocks(context, delivery, [...body.content, ...waiting]), ...waiting];
  return blocks.length === 0 ? body : { ...body, content: [...body.content, ...blocks] };
}

/** Events that say nothing more than that a task or a question is there; and the field with its id. */
const SHOWN_BY: Partial<Record<EventType, string>> = {
  task_created: 'taskId',
  elicitation_request: 'requestId',
  sampling_request: 'requestId',
};

/** The events that say more than the rest of the reply does; those that do not are delivered with it. */
function eventBlocks(
  context: ToolContext,
  delivery: Delivery | undefined,
  rest: readonly ContentBlock[],
): ContentBlock[] {
  if (delivery === undefined || delivery.events.length === 0) return [];
  settleWith(context, delivery);
  const shows = (id: unknown): boolean =>
    rest.some(({ text }) => typeof text === 'string' && text.includes(String(id)));
  const events = delivery.events.filter(({ type, data }) => {
    const id = SHOWN_BY[type];
    return type !== 'server_connected' && !(id !== undefined && shows(data[id]));
  });
  return events.length === 0 ? [] : [jsonBlock({ events_since_last_response: events.map(eventView) })];
}

/**
 * The events that a reply delivers. Where a result has `structuredContent`, several clients show the model nothing else, so
 * events wait for the next reply. That a server was connected is delivered by its own answers, and otherwise only by
 * `await_activity`: most clients do not need to know.
 */
function eventsFor(body: ToolReply, answered: (server: string) => boolean): (event: SessionEvent) => boolean {
  const canShow = body['structuredContent'] === undefined;
  return ({ type, server }) => (type === 'server_connected' ? answered(server) : canShow);
}

/** It has no place for events: they come with the reply that it puts off. */
async function roundReply(
  context: ToolContext,
  { inputRequests, requestState }: Round,
): Promise<Record<string, unknown>> {
  try {
    await settledIn(context);
  } catch (error) {
    return notStored(context, error);
  }
  return { resultType: 'input_required', inputRequests, requestState };
}

function notStored({ exchange }: ToolContext, error: unknown): ToolReply {
  exchange.settle(false);
  return errorReply(
    new GatewayError('TOOL_ERR_STORE', `the gateway could not write to its store: ${messageOf(error)}`),
  );
}

/** Events that tell the client what it knows already: they do not ride with the reply, but share its fate. */
export function leaveOut(context: ToolContext, matching: (event: SessionEvent) => boolean): void {
  settleWith(context, context.session.events.takeForEveryone(matching, context.reader));
}

/** The events of `delivery` share the fate of the reply. */
export function settleWith({ exchange }: ToolContext, delivery: Delivery): void {
  exchange.whenSettled((delivered) => delivery.settle(delivered));
}

export function errorReply(error: unknown): ToolReply {
  const { code, message, details } =
    error instanceof GatewayError ? error : new GatewayError('TOOL_ERR_INTERNAL', messageOf(error));
  return { content: [jsonBlock({ error: { code, message, ...(details && { details }) } })], isError: true };
}
