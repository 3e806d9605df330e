/** Performs console actions at the gateway that owns the session, and collects data from all gateways. */

import { NeighbourUnreachable } from '../../../core/cluster/neighbours.ts';
import { GatewayError, OwnedElsewhere } from '../../../core/errors.ts';
import type { Gateway } from '../../../core/gateway.ts';
import { messageOf } from '../../../lib/log.ts';
import { sleep, timeoutSignal } from '../../../lib/timers.ts';
import { isObject } from '../../../lib/values.ts';
import { ApiError, apiErrorOf } from '../api-error.ts';
import type { Person } from '../person.ts';
import { doHere } from './here.ts';
import type { Action, ConsoleQuery, ConsoleWork } from './work.ts';

/** The delay before retrying to reach the owner of a session, or to take the session over. */
const RETRY_MS = 250;
/** How long another gateway may take to act. */
const ACT_MS = 60_000;

/** The wire format between gateways, which preserves API errors. */
type Told =
  /** Absent if there is no result. */
  | { done?: unknown; failed?: never }
  | { failed: { status: number; code: string; message: string; details: object; beside: object } };

export async function doAnywhere(gateway: Gateway, person: Person, work: Action): Promise<unknown> {
  const { clock, store, settings } = gateway;
  const deadline = clock.now() + (store.cluster?.leaseMs ?? 0) + settings.cluster.drainMs;
  for (;;) {
    try {
      return await doHere(gateway, person, work);
    } catch (error) {
      if (!(error instanceof OwnedElsewhere)) throw error;
      try {
        return await askOwner(gateway, person, work, error);
      } catch (failure) {
        if (failure instanceof ApiError) throw failure;
        if (!(failure instanceof NeighbourUnreachable) || clock.now() >= deadline) throw lost(failure);
      }
    }
    await sleep(RETRY_MS, clock);
  }
}

async function askOwner(
  { neighbourhood, clock }: Gateway,
  { principal, operator, facts }: Person,
  work: Action,
  { owner }: OwnedElsewhere,
): Promise<unknown> {
  if (neighbourhood === undefined) throw new NeighbourUnreachable('no gateway can be reached');
  const { signal, cancel } = timeoutSignal(ACT_MS, clock);
  try {
    const request = { ask: 'console' as const, operator, facts, work };
    return unpacked((await neighbourhood.send(owner, principal, request, signal)) as Told);
  } finally {
    cancel();
  }
}

/** The data of this gateway and of all others that answer. */
export async function lookEverywhere(gateway: Gateway, person: Person, work: ConsoleQuery): Promise<unknown[]> {
  const { neighbourhood, log } = gateway;
  if (neighbourhood === undefined) return [await doHere(gateway, person, work)];
  const { principal, operator, facts } = person;
  const request = { ask: 'console' as const, operator, facts, work };
  const asked = operator ? neighbourhood.askEvery(principal, request) : neighbourhood.askAll(principal, request);
  const [here, others] = await Promise.all([
    doHere(gateway, person, work),
    asked.catch((error: unknown) => {
      // Local data can be shown even while the store is down.
      log.warn('others_not_asked', { error: messageOf(error) });
      return [];
    }),
  ]);
  return [here, ...others.flatMap((told) => (isObject(told) && told['done'] !== undefined ? [told['done']] : []))];
}

/** Answers another gateway. */
export async function tellNeighbour(gateway: Gateway, person: Person, work: ConsoleWork): Promise<Told> {
  try {
    return { done: await doHere(gateway, person, work) };
  } catch (error) {
    if (error instanceof OwnedElsewhere) throw error;
    const failed = apiErrorOf(error);
    if (failed === undefined) throw error;
    const { status, code, message, details, beside } = failed;
    // The other gateway may take the session over.
    if (code === 'shutting_down') throw error;
    return { failed: { status, code, message, details, beside } };
  }
}

function unpacked(told: Told): unknown {
  if (told.failed === undefined) return told.done;
  const { status, code, message, details, beside } = told.failed;
  throw new ApiError(status, code, message, {
    details: details as Record<string, unknown>,
    beside: beside as Record<string, unknown>,
  });
}

function lost(failure: unknown): GatewayError {
  const message = `the gateway that owns the session does not respond (${messageOf(failure)}); check its state and try again`;
  return new GatewayError('TOOL_ERR_STORE', message);
}
