import type { Clock } from '../../lib/clock.ts';
import type { InFlight } from '../../lib/in-flight.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { TaskBook } from '../task/book.ts';
import { chooseHost, type OpenCall, type Surroundings } from './attribution.ts';
import type { OpenInteraction } from './interaction.ts';
import { requestOf } from './link.ts';

/** How long after the last use of a server its questions outside of calls still concern the client. */
const RECENT_USE_MS = 5 * 60_000;

const NOWHERE: Surroundings = { calls: [], hosts: [], needsHost: false };

/** The calls that are open now, by their ids. */
export type OpenCalls = Pick<InFlight<string, LiveCall>, 'get' | 'values'>;

/** A request other than a call that can host a question. */
export interface HostRequest {
  id: string;
  /** Its server, which may have asked. */
  server: string;
  tellsRoots: boolean;
}

interface ClientActivityParts {
  calls: OpenCalls;
  tasks: TaskBook;
  /** Whether the client receives questions only through its own requests. */
  needsHost: () => boolean;
  clock: Clock;
}

/** The interactions that are open now. */
interface OpenInteractions {
  open: () => OpenInteraction[];
  find: (id: string) => OpenInteraction | undefined;
}

/** The calls and requests of a client that may have caused a question, or through which it can be asked. */
export class ClientActivity {
  readonly #hosts = new LazyMap<string, HostRequest>();
  /** When the client last used each server. */
  readonly #usedAt = new Map<string, number>();
  readonly #parts: ClientActivityParts;
  readonly #interactions: OpenInteractions;

  constructor(parts: ClientActivityParts, interactions: OpenInteractions) {
    this.#parts = parts;
    this.#interactions = interactions;
  }

  serverUsed(server: string): void {
    this.#usedAt.set(server, this.#parts.clock.now());
  }

  usedRecently(server: string): boolean {
    const usedAt = this.#usedAt.get(server);
    return usedAt !== undefined && this.#parts.clock.now() - usedAt < RECENT_USE_MS;
  }

  addHost(host: HostRequest): void {
    this.#hosts.set(host.id, host);
  }

  removeHost(id: string): void {
    this.#hosts.delete(id);
  }

  /** The call behind a task. */
  callOf(taskId: string): LiveCall | undefined {
    return this.#parts.calls.values().find((call) => call.taskId === taskId);
  }

  /** Whether the client of this call, or of the call it would be asked through, supports roots. */
  tellsRoots(server: string, callId: string | undefined): boolean {
    const { calls, needsHost } = this.#parts;
    const id = callId ?? (needsHost() ? chooseHost(this.surroundings(server))?.callId : undefined);
    if (id === undefined) return false;
    return (this.#hosts.get(id) ?? calls.get(id)?.caller)?.tellsRoots === true;
  }

  /** The surroundings of an open interaction; `as`: as if it were this one. */
  around(id: string, as?: OpenInteraction): Surroundings {
    const interaction = as ?? this.#interactions.find(id);
    return interaction === undefined ? NOWHERE : this.surroundings(interaction.server, interaction);
  }

  surroundings(server: string, interaction?: OpenInteraction): Surroundings {
    const { calls, tasks, needsHost } = this.#parts;
    const interactions = this.#interactions;
    const open = calls.values().filter((call) => call.request.server === server);
    const asOpenCall = (call: LiveCall): OpenCall => ({
      callId: call.id,
      ...(call.taskId !== undefined && { taskId: call.taskId }),
      effect: (interaction && call.caller.effectOf?.(interaction)) ?? 'promote',
      waiting: !call.answered,
      detached: call.native || call.checkpoint !== undefined,
      asking: interactions.open().some(({ id, link }) => id !== interaction?.id && requestOf(link)?.callId === call.id),
      abandoned: call.taskId !== undefined && tasks.find(call.taskId)?.abandoned === true,
    });
    const hosts = [...this.#hosts.values()].filter((host) => host.server === server).map(({ id }) => id);
    return { calls: open.map(asOpenCall), hosts, needsHost: needsHost() };
  }
}
