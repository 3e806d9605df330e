import { URL_ELICITATION_REQUIRED, type RpcFailure } from '../../lib/rpc-error.ts';
import { isObject, quotable } from '../../lib/values.ts';
import { canBeAsked } from '../asking/asking.ts';
import { passOn, type Reply } from '../commit-gate.ts';
import { readState } from '../mrtr/request-state.ts';
import { HeldRequest } from './held-requests.ts';
import type { Params } from '../message.ts';
import type { ModernRequest } from './modern-request.ts';
import { wireError } from './outcome.ts';

/** Relays a request; questions of the server reach the client in rounds. */
export async function relay(request: ModernRequest, method: string, params: Params): Promise<Reply> {
  const { parts, info, id, exchange, client, state, answers } = request;
  const { _meta: _ownMeta, ...own } = params;
  // A server that asks in rounds keeps their state itself.
  const rounds = info.traits.asksInRounds ? { inputResponses: answers, requestState: state } : {};
  if (state !== undefined && !info.traits.asksInRounds) return nextOfHeld(request);
  const meta = { ...request.meta(method, params), ...(exchange.progress && { progressToken: id }) };
  const outgoing = { ...own, ...rounds, _meta: meta };
  const onProgress = exchange.progress ?? ((): void => {});
  const start = async (signal: AbortSignal): Promise<Params> =>
    parts.session.relay(request.server, { id, method, params: outgoing, signal, onProgress, rounds: 'return' });
  const held = new HeldRequest({
    session: parts.session,
    server: request.server,
    id,
    capabilities: client.capabilities,
    start,
  });
  try {
    const reply = await waitFor(request, held);
    parts.session.connections.readLists.record(method, params, reply.result);
    return reply;
  } catch (error) {
    return passOn(roundInstead(request, wireError(`server '${request.server}'`, error, parts.session)));
  }
}

/** The client returns with the answers to a held request. */
async function nextOfHeld(request: ModernRequest): Promise<Reply> {
  const { session, clientState } = request.parts;
  const { capabilities } = request.client;
  const waiting = readState(session.key, request.state);
  const held = clientState.held.get('request' in waiting ? waiting.request : '');
  await clientState.asked.answer({ callId: held.id }, capabilities, request.answers ?? {});
  // Unanswered questions are asked again: no event would announce them.
  const left = clientState.asked.shown({ callId: held.id }, capabilities);
  return left.size > 0 ? request.round(left, { request: held.id }) : waitFor(request, held);
}

async function waitFor(request: ModernRequest, held: HeldRequest): Promise<Reply> {
  const { clientState } = request.parts;
  const stopListening = request.exchange.onLeaving((_leaving, words) => held.stop(words));
  const next = await request.listening(held.id, async () => held.next()).finally(stopListening);
  if (next !== 'asked') return passOn(next.result);
  const asked = await clientState.asked.gathered({ callId: held.id }, request.client.capabilities);
  if (asked.size === 0) return waitFor(request, held);
  clientState.held.keep(held);
  return request.round(asked, { request: held.id });
}

/** In this era a round replaces the error that asks the client to open a URL first. */
export function roundInstead({ client, info }: ModernRequest, error: Error & RpcFailure): Params {
  const asked = elicitationsIn(error).filter((params) =>
    canBeAsked(client.capabilities, { kind: 'elicitation', params }),
  );
  if (asked.length === 0 || info.traits.asksInRounds) throw error;
  const requests = asked.map((params) => [
    quotable(params['elicitationId'] ?? params['url']),
    { method: 'elicitation/create', params },
  ]);
  return { resultType: 'input_required', inputRequests: Object.fromEntries(requests) as Params };
}

/** The URLs in a legacy error that asks the client to open them. */
function elicitationsIn({ code, data }: RpcFailure): Params[] {
  const listed = code === URL_ELICITATION_REQUIRED && isObject(data) ? data['elicitations'] : undefined;
  return Array.isArray(listed) ? listed.filter(isObject).map((each) => ({ ...each, mode: 'url' })) : [];
}
