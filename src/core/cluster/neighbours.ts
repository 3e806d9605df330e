import type { EventType } from '../event/event.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { GatewayAddress } from '../ports.ts';
import type { Task } from '../task/task.ts';

/** What a gateway asks another one on the same store, for the clients of one principal. */
export type NeighbourRequest =
  /** What clients that see servers as they are have there: their tasks, and the questions that nobody presents to them. */
  | { ask: 'left' }
  /** Runs a tool of the hub in one of its sessions. */
  | { ask: 'tool'; session: string; tool: string; args: unknown }
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
