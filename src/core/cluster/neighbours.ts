import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { sleep, timeoutSignal } from '../../lib/timers.ts';
import { orStoreFailed, type OwnedElsewhere } from '../errors.ts';
import type { EventType } from '../event/event.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { ClusterStore, GatewayAddress, TokenFacts } from '../ports.ts';
import type { Task } from '../task/task.ts';

/** What a gateway asks another one on the same store, for the clients of one principal. `facts`: what the token of the client says. */
export type NeighbourRequest =
  /**
   * What clients that see servers as they are have there: the tasks that are asked for, and the questions that nobody presents to
   * them.
   */
  | { ask: 'left'; tasks: 'all' | 'open' | 'none' }
  /** Runs a tool of the hub in one of its sessions. */
  | { ask: 'tool'; session: string; tool: string; args: unknown; facts?: TokenFacts | undefined }
  /** Does something for a person at the console of the asking gateway. `operator`: the person sees what belongs to any principal. */
  | { ask: 'console'; operator: boolean; facts?: TokenFacts | undefined; work: unknown }
  /** Tells its clients of the hub what happened in a session here. */
  | { ask: 'event'; type: EventType; server: string; data: Record<string, unknown> };

/** The answer to `left`; tasks come without their results, which may be large. */
export interface LeftThere {
  tasks: Task[];
  questions: Interaction[];
}

/** The other gateways on the same store. */
export interface Neighbours {
  /**
   * Resolves with the answer. Rejects with a `NeighbourUnreachable` if that gateway has certainly done nothing, and with another
   * error if it may have.
   */
  ask(to: GatewayAddress, principal: string, request: NeighbourRequest, signal?: AbortSignal): Promise<unknown>;
}

/** The gateway is not there, or does not have the session any more. */
export class NeighbourUnreachable extends Error {
  override readonly name = 'NeighbourUnreachable';
}

/** How long others may take to answer. */
const ASK_MS = 2000;
/** How long to wait before others are told again. */
const TELL_AGAIN_MS = 500;

/** The other gateways on the same store, as far as this one can reach them. */
export class Neighbourhood {
  readonly #cluster: ClusterStore;
  readonly #neighbours: Neighbours;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(cluster: ClusterStore, neighbours: Neighbours, { clock, log }: { clock: Clock; log: Log }) {
    this.#cluster = cluster;
    this.#neighbours = neighbours;
    this.#clock = clock;
    this.#log = log;
  }

  /** What the gateways answer that have sessions of the principal; those that do not answer are left out. */
  async askAll(principal: string, request: NeighbourRequest): Promise<unknown[]> {
    return this.#askThese(await orStoreFailed(this.#cluster.gatewaysOf(principal)), principal, request);
  }

  /** The same of all other gateways. */
  async askEvery(principal: string, request: NeighbourRequest): Promise<unknown[]> {
    return this.#askThese(await orStoreFailed(this.#cluster.others()), principal, request);
  }

  async #askThese(others: GatewayAddress[], principal: string, request: NeighbourRequest): Promise<unknown[]> {
    const reachable = others.filter(({ address }) => address !== undefined);
    const answers = await Promise.all(reachable.map(async (other) => this.#ask(other, principal, request)));
    return answers.filter((answer) => answer !== undefined);
  }

  /** Tells the gateways that have sessions of the principal, again until all know or those that do not are gone. */
  async tell(principal: string, request: NeighbourRequest): Promise<void> {
    const deadline = this.#clock.now() + this.#cluster.leaseMs;
    const told = new Set<string>();
    for (;;) {
      const others = await orStoreFailed(this.#cluster.gatewaysOf(principal));
      const left = others.filter(({ id, address }) => address !== undefined && !told.has(id));
      await Promise.all(
        left.map(async (other) => {
          if ((await this.#ask(other, principal, request)) !== undefined) told.add(other.id);
        }),
      );
      if (left.every(({ id }) => told.has(id)) || this.#clock.now() >= deadline) return;
      await sleep(TELL_AGAIN_MS, this.#clock);
    }
  }

  async #ask(other: GatewayAddress, principal: string, request: NeighbourRequest): Promise<unknown> {
    const { signal, cancel } = timeoutSignal(ASK_MS, this.#clock);
    try {
      return await this.#neighbours.ask(other, principal, request, signal);
    } catch (error) {
      this.#log.warn('gateway_did_not_answer', { gateway: other.id, ask: request.ask, error: messageOf(error) });
      return undefined;
    } finally {
      cancel();
    }
  }

  /** Has a gateway run a tool in a session that it has; as long as that takes. */
  async run(
    { key: session, owner }: OwnedElsewhere,
    principal: string,
    work: { tool: string; args: unknown; facts: TokenFacts | undefined },
    signal: AbortSignal,
  ): Promise<unknown> {
    return this.send(owner, principal, { ask: 'tool', session, ...work }, signal);
  }

  /** Asks one gateway; as long as that takes. */
  async send(to: GatewayAddress, principal: string, request: NeighbourRequest, signal: AbortSignal): Promise<unknown> {
    if (to.address === undefined) throw new NeighbourUnreachable(`gateway ${to.id} has no address`);
    return this.#neighbours.ask(to, principal, request, signal);
  }
}
