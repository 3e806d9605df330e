/** Servers and sessions send no change events, so they are polled while a stream is open. */

import type { Gateway } from '../../../core/gateway.ts';
import { messageOf } from '../../../lib/log.ts';
import { every } from '../../../lib/timers.ts';
import type { Server, SessionItem } from '../api/schemas.ts';
import type { Person } from '../person.ts';
import { lookEverywhere } from '../work/anywhere.ts';
import { mergedServers } from './servers.ts';
import { serverKey } from '../../../lib/server-key.ts';
import { mergedSessions } from './sessions.ts';

const LOOK_MS = 2000;
/** How often the activity of a session in use is reported. */
const ACTIVITY_MS = 30_000;

const SERVER = {
  keyOf: serverKey,
  gone: (key: string): object => {
    const [principal, name] = key.split('\n', 2);
    return { name, ...(principal !== '' && { principal }), gone: true };
  },
};
const SESSION = { keyOf: ({ id }: SessionItem): string => id, gone: (id: string): object => ({ id, gone: true }) };

export type LiveChange = { event: 'server' | 'session'; item: object };

type Listener = (change: LiveChange) => void;

/** The servers and sessions that a person may see, at all gateways. */
export async function liveServers(gateway: Gateway, person: Person): Promise<Server[]> {
  return mergedServers((await lookEverywhere(gateway, person, { do: 'servers' })) as Server[][]);
}

export async function liveSessions(gateway: Gateway, person: Person): Promise<SessionItem[]> {
  return mergedSessions((await lookEverywhere(gateway, person, { do: 'sessions' })) as SessionItem[][]);
}

export class LiveViews {
  readonly #gateway: Gateway;
  /** One for each person. */
  readonly #views = new Map<string, LiveView>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** The number of listeners of this person. */
  watching(person: Person): number {
    return this.#views.get(keyOf(person))?.listeners ?? 0;
  }

  /** Reports changes until the returned function is called, which may happen repeatedly. */
  watch(person: Person, listener: Listener): () => void {
    const key = keyOf(person);
    const view = this.#views.get(key) ?? new LiveView(this.#gateway, person);
    this.#views.set(key, view);
    const stop = view.watch(listener);
    return () => {
      stop();
      if (view.isUnused && this.#views.get(key) === view) this.#views.delete(key);
    };
  }
}

const keyOf = ({ principal, operator, facts }: Person): string =>
  `${operator ? 'operator' : 'person'} ${principal} ${JSON.stringify(facts ?? null)}`;

class LiveView {
  readonly #gateway: Gateway;
  readonly #person: Person;
  readonly #listeners = new Set<Listener>();
  #servers: Map<string, string> | undefined;
  #sessions: Map<string, string> | undefined;
  #stop: (() => void) | undefined;
  #looking = false;

  constructor(gateway: Gateway, person: Person) {
    this.#gateway = gateway;
    this.#person = person;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0;
  }

  watch(listener: Listener): () => void {
    if (this.isUnused) {
      this.#stop = every(LOOK_MS, () => void this.#look(), this.#gateway.clock);
      void this.#look();
    }
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.isUnused) this.#stop?.();
    };
  }

  async #look(): Promise<void> {
    // Polls must not pile up if a gateway answers slowly.
    if (this.#looking || this.#gateway.closing) return;
    this.#looking = true;
    try {
      const [servers, sessions] = await Promise.all([
        liveServers(this.#gateway, this.#person),
        liveSessions(this.#gateway, this.#person),
      ]);
      this.#servers = this.#compare('server', SERVER, this.#servers, servers);
      this.#sessions = this.#compare('session', SESSION, this.#sessions, sessions, roughly);
    } catch (error) {
      this.#gateway.log.warn('console_not_updated', { error: messageOf(error) });
    } finally {
      this.#looking = false;
    }
  }

  /** The first poll equals what the lists show. */
  #compare<T extends object>(
    event: LiveChange['event'],
    { keyOf: key, gone }: { keyOf: (item: T) => string; gone: (key: string) => object },
    before: ReadonlyMap<string, string> | undefined,
    items: readonly T[],
    essence: (item: T) => object = (item) => item,
  ): Map<string, string> {
    const now = new Map(items.map((item) => [key(item), JSON.stringify(essence(item))]));
    if (before === undefined) return now;
    for (const item of items) if (before.get(key(item)) !== now.get(key(item))) this.#tell({ event, item });
    for (const id of before.keys()) if (!now.has(id)) this.#tell({ event, item: gone(id) });
    return now;
  }

  #tell(change: LiveChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

function roughly(session: SessionItem): object {
  return { ...session, lastActiveAt: Math.floor(session.lastActiveAt / ACTIVITY_MS) };
}
