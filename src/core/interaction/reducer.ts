/**
 * The pure part of the router: the effect of an event on one interaction, and the actions that follow from it.
 *
 *   open ──answered──▶ answering ──stored──▶ settled ──taken──▶ gone
 *     └──expired────────────────────────────▶ settled
 *     └──refused, rejected──────────────────────────────────────▶ gone
 *
 * Only an interaction with a key is ever settled: the server may repeat it until it has the answer. Without a key it
 * is gone at once. An event that ends the interaction while its answer is being stored overtakes the answer.
 */
import type { RpcFailure } from '../../lib/rpc-error.ts';
import {
  afterCallEnded,
  afterOthersEnded,
  attribute,
  becomesTask,
  type Attribution,
  type Surroundings,
} from './attribution.ts';
import { settle, type Answer, type OpenInteraction, type SettledInteraction, type Settlement } from './interaction.ts';
import { promoteInLink, requestOf, withHost, type CallRef, type Link } from './link.ts';

export type RoutedInteraction =
  | {
      phase: 'open';
      interaction: OpenInteraction;
      /** The client has it and may answer at any time. */
      presented: boolean;
      /** An event announced it, so another event must report its end. */
      announced: boolean;
    }
  | { phase: 'answering'; interaction: SettledInteraction; answer: Answer; overtakenBy?: string }
  | { phase: 'settled'; interaction: SettledInteraction };

export type RouterEvent =
  /** `announce`: whether an event always announces it, or only if no responder takes it. */
  | {
      type: 'asked';
      link: Link;
      around: Surroundings;
      recentlyUsed: boolean;
      announce: 'always' | 'unclaimed';
      handledBy?: OpenInteraction['handledBy'];
    }
  /** The gateway does not answer it after all: it goes to people, like a new interaction. */
  | { type: 'left_to_people'; reason: string | undefined; around: Surroundings; announce: 'always' | 'unclaimed' }
  | { type: 'offered_again' }
  | { type: 'unclaimed' }
  | { type: 'presented' }
  | { type: 'call_promoted'; callId: string; taskId: string }
  | { type: 'call_ended'; callId: string; aborted: boolean; around: Surroundings }
  | { type: 'others_ended'; around: Surroundings }
  | { type: 'server_used'; announce: 'always' | 'unclaimed' }
  /** The client is asked through this call, although another one may have asked. */
  | { type: 'hosted'; host: CallRef }
  /** No person answered: the interaction is left to the hub tools. `around`: the surroundings of such an interaction. */
  | { type: 'left_to_tools'; around: Surroundings }
  | Exclude<Settlement, { type: 'rejected' }>
  /** `words`: the server's reason for withdrawing it. */
  | { type: 'rejected'; reason: string; words?: string }
  | { type: 'stored' }
  | { type: 'taken' };

export type Effect =
  | { type: 'save' }
  | { type: 'drop' }
  | { type: 'promote'; callId: string }
  /** Finds a responder, unless one has it. */
  | { type: 'offer' }
  /** Stops the responder that has it; `words`: the server's reason. */
  | { type: 'release'; words?: string }
  /** Waiters of the task check its interactions again. */
  | { type: 'wake'; taskId: string }
  | { type: 'announce'; event: 'request' }
  | { type: 'announce'; event: 'expired'; reason: string }
  /** No other session may answer from now on. */
  | { type: 'claim_answer' }
  | { type: 'deliver'; answer: Answer }
  /** `expired`: there was no answer in time. */
  | { type: 'fail'; reason: string; error?: RpcFailure; expired?: true };

export interface Reduced {
  /** `undefined`: it has ended, and nothing is kept. */
  state: RoutedInteraction | undefined;
  effects: Effect[];
}

export function reduce(state: RoutedInteraction, event: RouterEvent): Reduced {
  switch (state.phase) {
    case 'open':
      return whileOpen(state, event);
    case 'answering':
      return whileAnswering(state, event);
    case 'settled':
      return event.type === 'taken' ? { state: undefined, effects: [{ type: 'drop' }] } : { state, effects: [] };
  }
}

type Open = Extract<RoutedInteraction, { phase: 'open' }>;
type Answering = Extract<RoutedInteraction, { phase: 'answering' }>;

function whileOpen(state: Open, event: RouterEvent): Reduced {
  const { interaction, presented } = state;
  const { link } = interaction;
  switch (event.type) {
    case 'asked':
      return asked(state, event);
    case 'offered_again':
      return { state, effects: [{ type: 'offer' }] };
    case 'unclaimed':
      return announced(state);
    case 'presented':
      return { state: { ...state, presented: true }, effects: [] };
    case 'call_promoted':
      return relinked(state, promoteInLink(link, event.callId, event.taskId), [{ type: 'save' }]);
    case 'call_ended': {
      const atIt = presented && !event.aborted;
      const next = afterCallEnded(link, event.callId, event.around, atIt);
      if (next === undefined) return { state, effects: [] };
      const wasHost = link.certainty !== 'certain' && link.host?.callId === event.callId;
      // A model does not need the request.
      const moved = wasHost && event.around.needsHost && interaction.handledBy === undefined;
      const effects: Effect[] = moved ? [{ type: 'release' }, { type: 'offer' }] : [{ type: 'offer' }];
      // A client that cancelled the call does not answer its questions. It can get the question with another task.
      if (!wasHost || !event.aborted) return attributed(state, next, effects);
      return attributed({ ...state, presented: false }, next, [...effects, ...wakeTasks(next.link)]);
    }
    case 'others_ended': {
      const next = afterOthersEnded(link, event.around);
      if (next === undefined) return ended(state, { type: 'rejected', reason: 'the call has ended' });
      return attributed(state, next, [{ type: 'offer' }]);
    }
    case 'server_used': {
      if (interaction.audience !== 'none') return { state, effects: [] };
      const shown: Open = { ...state, interaction: { ...interaction, audience: 'anyone' } };
      const { state: next, effects } = event.announce === 'always' ? announced(shown) : { state: shown, effects: [] };
      return { state: next, effects: [{ type: 'save' }, ...effects, { type: 'offer' }] };
    }
    case 'hosted':
      if (link.certainty === 'certain') return { state, effects: [] };
      return relinked(state, withHost(link, event.host), [{ type: 'save' }, { type: 'offer' }]);
    case 'left_to_tools':
      return leftToTools(state, event.around);
    case 'left_to_people':
      return leftToPeople(state, event);
    case 'answered': {
      const { answer } = event;
      const settled = settle(interaction, event);
      const effects: Effect[] = [{ type: 'release' }, kept(settled), { type: 'claim_answer' }];
      return { state: { phase: 'answering', interaction: settled, answer }, effects };
    }
    case 'expired':
    case 'refused':
    case 'rejected':
      return ended(state, event);
    case 'stored':
    case 'taken':
      return { state, effects: [] };
  }
}

/** Only these events affect an answered interaction. */
function whileAnswering(state: Answering, event: RouterEvent): Reduced {
  const { interaction, answer, overtakenBy } = state;
  if (event.type === 'rejected') {
    return { state: { ...state, overtakenBy: overtakenBy ?? event.reason }, effects: [] };
  }
  if (event.type !== 'stored') return { state, effects: [] };
  if (overtakenBy !== undefined) {
    return { state: undefined, effects: [{ type: 'drop' }, { type: 'fail', reason: overtakenBy }] };
  }
  return {
    state: interaction.key === undefined ? undefined : { phase: 'settled', interaction },
    effects: [{ type: 'deliver', answer }],
  };
}

function asked(state: Open, event: Extract<RouterEvent, { type: 'asked' }>): Reduced {
  const { link, promote } = attribute(event.link, event.around);
  // Some proxies send every question of their server to all clients. A client that has not used the server lately cannot
  // have caused the question, and is not shown it. It is not refused either: another client may be about to answer it.
  const audience = link.certainty === 'none' && link.host === undefined && !event.recentlyUsed ? 'none' : 'anyone';
  const open: Open = { ...state, interaction: { ...state.interaction, link, audience } };
  if (event.handledBy !== undefined) return handled(open, event.handledBy);
  const { state: next, effects } = event.announce === 'always' ? announced(open) : { state: open, effects: [] };
  return { state: next, effects: [...promotions(promote), { type: 'save' }, ...effects, { type: 'offer' }] };
}

/** No call becomes a task because of it, and no event announces it. A rule answers it immediately. */
function handled(state: Open, handledBy: 'rule' | 'model'): Reduced {
  const effects: Effect[] = [{ type: 'save' }];
  if (handledBy === 'model') effects.push({ type: 'offer' });
  return { state: { ...state, interaction: { ...state.interaction, handledBy } }, effects };
}

function leftToPeople(
  state: Open,
  { reason, around, announce }: Extract<RouterEvent, { type: 'left_to_people' }>,
): Reduced {
  const { handledBy: _handledBy, ...asked } = state.interaction;
  const { link, promote } = attribute(asked.link, around);
  const interaction: OpenInteraction = { ...asked, link, ...(reason !== undefined && { modelFailure: reason }) };
  const open: Open = { ...state, interaction };
  const { state: next, effects } = announce === 'always' ? announced(open) : { state: open, effects: [] };
  const then: Effect[] = [{ type: 'save' }, ...effects, { type: 'release' }, { type: 'offer' }];
  return { state: next, effects: [...promotions(promote), ...then] };
}

function announced(state: Open): Reduced {
  const { kind, audience } = state.interaction;
  // Roots are never announced: only the client itself knows them.
  if (state.announced || kind === 'roots' || audience === 'none') return { state, effects: [] };
  return { state: { ...state, announced: true }, effects: [{ type: 'announce', event: 'request' }] };
}

function leftToTools(state: Open, around: Surroundings): Reduced {
  const { link } = state.interaction;
  const effects: Effect[] = [{ type: 'save' }];
  const host = requestOf(link)?.callId;
  for (const call of around.calls) {
    const mayWait =
      link.certainty === 'certain'
        ? call.callId === link.by.callId
        : link.certainty === 'possible' && link.calls.some(({ callId }) => callId === call.callId);
    if (!mayWait) continue;
    if (call.taskId !== undefined && call.callId !== host) effects.push({ type: 'wake', taskId: call.taskId });
    // A reply has to show it.
    else if (becomesTask(call.effect)) effects.push({ type: 'promote', callId: call.callId });
  }
  return { state: { ...state, interaction: { ...state.interaction, audience: 'tools' } }, effects };
}

function attributed(state: Open, { link, promote }: Attribution, then: Effect[]): Reduced {
  return relinked(state, link, [...promotions(promote), { type: 'save' }, ...then]);
}

function relinked(state: Open, link: OpenInteraction['link'], effects: Effect[]): Reduced {
  return { state: { ...state, interaction: { ...state.interaction, link } }, effects };
}

/** Wakes the tasks that may have asked, so that their clients check for questions. */
function wakeTasks(link: Link): Effect[] {
  const calls = link.certainty === 'possible' ? link.calls : [];
  return calls.flatMap(({ taskId }) => (taskId === undefined ? [] : [{ type: 'wake', taskId }]));
}

function promotions(callIds: readonly string[]): Effect[] {
  return callIds.map((callId) => ({ type: 'promote', callId }));
}

/** Ends an unanswered interaction. */
function ended(state: Open, event: Exclude<Extract<RouterEvent, Settlement>, { type: 'answered' }>): Reduced {
  const settled = settle(state.interaction, event);
  if (!('reason' in settled)) throw new Error('only an answer settles without a reason');
  const { reason } = settled;
  const words = event.type === 'rejected' && 'words' in event ? event.words : undefined;
  const keep = event.type === 'expired' && settled.key !== undefined;
  return {
    state: keep ? { phase: 'settled', interaction: settled } : undefined,
    effects: [
      { type: 'release', ...(words !== undefined && { words }) },
      keep ? { type: 'save' } : { type: 'drop' },
      ...(state.announced ? [{ type: 'announce', event: 'expired', reason } as const] : []),
      {
        type: 'fail',
        reason,
        ...(event.type === 'refused' && { error: event.error }),
        ...(event.type === 'expired' && { expired: true }),
      },
    ],
  };
}

/** Keeps only interactions that the server can repeat by key. */
function kept({ key }: SettledInteraction): Effect {
  return { type: key === undefined ? 'drop' : 'save' };
}
