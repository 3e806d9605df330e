/** Asks other gateways on the same store, and answers them. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { isShuttingDown, OwnedElsewhere } from '../../core/errors.ts';
import { NeighbourUnreachable, type NeighbourRequest, type Neighbours } from '../../core/cluster/neighbours.ts';
import type { GatewayAddress } from '../../core/ports/cluster-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';
import { messageOf } from '../../lib/log.ts';
import { INTERNAL_ERROR } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { Exchange } from '../exchange.ts';
import { DELIVERY, FORWARDED } from '../http/addressed.ts';
import { parseBody, readBody } from '../http/body.ts';
import { listenToResponse, respondError, respondJson } from '../http/response.ts';
import { GATEWAY_PATH, gatewayHeader } from './advertise.ts';
import type { Confirmations } from './confirmations.ts';
import type { GatewayResponse, GatewayClient } from './gateway-client.ts';
import type { ForwardStore } from './owners.ts';
import { REFUSED_BY, type Received } from './receiver.ts';

/** The limit on requests and answers, which may contain large task results. */
const MAX_BYTES = 64 * 1024 * 1024;

export class HttpNeighbours implements Neighbours {
  readonly #store: ForwardStore;
  readonly #clock: Clock;
  readonly #client: GatewayClient;
  readonly #confirmations: Confirmations;

  constructor(
    { store, clock }: { store: ForwardStore; clock: Clock },
    client: GatewayClient,
    confirmations: Confirmations,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#client = client;
    this.#confirmations = confirmations;
  }

  async ask(
    { id, address }: GatewayAddress,
    principal: string,
    request: NeighbourRequest,
    signal?: AbortSignal,
  ): Promise<unknown> {
    signal?.throwIfAborted();
    if (address === undefined) throw new NeighbourUnreachable(`gateway ${id} has no address`);
    const sentTo = { id, address };
    const { request: number, header: delivery } = this.#confirmations.next(sentTo);
    const about = { method: 'POST', principal };
    const headers = {
      [FORWARDED]: gatewayHeader(this.#store, id, this.#clock.now(), about),
      [DELIVERY]: delivery,
    };
    const content = Buffer.from(stringifyExact(request));
    const body = new PassThrough();
    body.on('error', () => {
      // The reader gets the error.
    });
    let answer: GatewayResponse | undefined;
    const sending = this.#client.send(
      { address, method: 'POST', path: GATEWAY_PATH, headers, body: content },
      {
        onAnswer: (given) => {
          answer = given;
          return body;
        },
        onClose: (error) => void (error && body.destroy(error)),
      },
    );
    const stop = (): void => sending.abort();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const outcome = await sending.outcome;
      if (outcome.kind === 'unreachable') throw new NeighbourUnreachable(outcome.error.message);
      if (outcome.kind === 'broken') throw outcome.error;
      const told = await textOf(body);
      this.#confirmations.add(sentTo, number, true);
      if (answer?.headers[REFUSED_BY] !== undefined) throw new NeighbourUnreachable('it does not have the session');
      if (answer?.status === 200) return parseExact(told);
      throw new Error(`it answered with status ${answer?.status}: ${told.slice(0, 200)}`);
    } finally {
      signal?.removeEventListener('abort', stop);
      stop();
    }
  }
}

async function textOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`its answer is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export type NeighbourRequestHandler = (
  principal: string,
  request: NeighbourRequest,
  exchange: Exchange,
) => Promise<unknown>;

/** Answers the request of another gateway. `refuse` reports that nothing was done. */
export async function answerRequest(
  { principal }: Received,
  { req, res }: { req: IncomingMessage; res: ServerResponse },
  answerer: NeighbourRequestHandler,
  refuse: () => void,
): Promise<void> {
  const exchange = new Exchange();
  const onHandedOver = (complete: boolean): void => {
    if (complete) exchange.settle(true);
    else exchange.closed();
  };
  listenToResponse(res, { onHandedOver });
  const body = await readBody(req, MAX_BYTES);
  const { value } = body.kind === 'complete' ? parseBody(body.bytes) : {};
  if (!isObject(value) || typeof value['ask'] !== 'string') {
    respondError(res, 400, INTERNAL_ERROR, 'the request does not come from a gateway of this version');
    return;
  }
  try {
    const answer = await answerer(principal, value as unknown as NeighbourRequest, exchange);
    respondJson(res, 200, stringifyExact(answer ?? {}));
  } catch (error) {
    if (wasNotDone(error)) refuse();
    else respondError(res, 500, INTERNAL_ERROR, messageOf(error));
  }
}

function wasNotDone(error: unknown): boolean {
  return error instanceof OwnedElsewhere || error instanceof NeighbourUnreachable || isShuttingDown(error);
}
