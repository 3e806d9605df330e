import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { timeoutSignal } from '../../lib/timers.ts';
import { orStoreFailed, type OwnedElsewhere } from '../errors.ts';
import type { ClusterStore } from '../ports.ts';
import { NeighbourUnreachable, type NeighbourRequest, type Neighbours } from './neighbours.ts';

/** How long others may take to answer. */
const ASK_MS = 2000;

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
    const others = await orStoreFailed(this.#cluster.gatewaysOf(principal));
    const reachable = others.filter(({ address }) => address !== undefined);
    const answers = await Promise.all(
      reachable.map(async (other) => {
        const { signal, cancel } = timeoutSignal(ASK_MS, this.#clock);
        try {
          return await this.#neighbours.ask(other, principal, request, signal);
        } catch (error) {
          this.#log.warn('gateway_not_asked', { gateway: other.id, ask: request.ask, error: messageOf(error) });
          return undefined;
        } finally {
          cancel();
        }
      }),
    );
    return answers.filter((answer) => answer !== undefined);
  }

  /** Has a gateway run a tool in a session that it has; as long as that takes. */
  async run(
    { key: session, owner }: OwnedElsewhere,
    principal: string,
    work: { tool: string; args: unknown },
    signal: AbortSignal,
  ): Promise<unknown> {
    if (owner.address === undefined) throw new NeighbourUnreachable(`gateway ${owner.id} has no address`);
    return this.#neighbours.ask(owner, principal, { ask: 'tool', session, ...work }, signal);
  }
}
