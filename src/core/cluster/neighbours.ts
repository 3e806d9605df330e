import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { sleep, timeoutSignal } from '../../lib/timers.ts';
import { orStoreFailed, type OwnedElsewhere } from '../errors.ts';
import type { EventType } from '../event/event.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { ClusterStore, GatewayAddress } from '../ports/cluster-store.ts';
import type { TokenFacts } from '../ports/identity.ts';
import type { Task } from '../task/task.ts';

/** A request to another gateway on the same store, for the clients of one principal. `facts`: those of the client's token. */
export type NeighbourRequest =
  /**
   * The requested tasks of native sessions there, and their questions that no client is being asked.
   */
  | { ask: 'left'; tasks: 'all' | 'open' | 'none' }
  /** Runs a tool of the hub in one of its sessions. */
  | { ask: 'tool'; session: string; tool: string; args: unknown; facts?: TokenFacts | undefined }
  /** Performs a console action for a person at the requesting gateway. `operator`: the person may act for all principals. */
  | { ask: 'console'; operator: boolean; facts?: TokenFacts | undefined; work: unknown }
  /** Reports an event of a session here to the hub clients there. */
  | { ask: 'event'; type: EventType; server: string; data: Record<string, unknown> };

/** The answer to `left`; tasks come without their results, which may be large. */
export interface LeftThere {
  tasks: Task[];
  questions: Interaction[];
}

/** The other gateways on the same store. */
export interface Neighbours {
  /**
   * Resolves with the answer. Rejects with `NeighbourUnreachable` if that gateway has certainly done nothing, and with another
   * error if it may have.
   */
  ask(to: GatewayAddress, principal: string, request: NeighbourRequest, signal?: AbortSignal): Promise<unknown>;
}

/** The gateway cannot be reached, or no longer owns the session. */
export class NeighbourUnreachable extends Error {
  override readonly name = 'NeighbourUnreachable';
}

/** How long others may take to answer. */
const ASK_MS = 2000;
/** The delay before a message is repeated. */
const TELL_AGAIN_MS = 500;

/** The reachable other gateways on the same store. */
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

  /** The answers of the gateways that own sessions of the principal; failures are skipped. */
  async askAll(principal: string, request: NeighbourRequest): Promise<unknown[]> {
    return this.#askThese(await orStoreFailed(this.#cluster.gatewaysOf(principal)), principal, request);
  }

  /** The answers of all other gateways; failures are skipped. */
  async askEvery(principal: string, request: NeighbourRequest): Promise<unknown[]> {
    return this.#askThese(await orStoreFailed(this.#cluster.others()), principal, request);
  }

  async #askThese(others: GatewayAddress[], principal: string, request: NeighbourRequest): Promise<unknown[]> {
    const reachable = others.filter(({ address }) => address !== undefined);
    const answers = await Promise.all(reachable.map(async (other) => this.#ask(other, principal, request)));
    return answers.filter((answer) => answer !== undefined);
  }

  /** Sends a message to the gateways that own sessions of the principal, and repeats it until each has it or is dead. */
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

  /** Runs a hub tool in a session of another gateway, without a time limit. */
  async run(
    { key: session, owner }: OwnedElsewhere,
    principal: string,
    work: { tool: string; args: unknown; facts: TokenFacts | undefined },
    signal: AbortSignal,
  ): Promise<unknown> {
    return this.send(owner, principal, { ask: 'tool', session, ...work }, signal);
  }

  /** Asks one gateway, without a time limit. */
  async send(to: GatewayAddress, principal: string, request: NeighbourRequest, signal: AbortSignal): Promise<unknown> {
    if (to.address === undefined) throw new NeighbourUnreachable(`gateway ${to.id} has no address`);
    return this.#neighbours.ask(to, principal, request, signal);
  }
}
