type Options = Parameters<EventTarget['addEventListener']>[2];

/** An `EventTarget` that knows its events: each is a `CustomEvent` whose `detail` has the type given for its name. */
export interface TypedEventTarget<Events> {
  addEventListener<K extends keyof Events & string>(
    type: K,
    listener: (event: CustomEvent<Events[K]>) => void,
    options?: Options,
  ): void;
  removeEventListener<K extends keyof Events & string>(
    type: K,
    listener: (event: CustomEvent<Events[K]>) => void,
    options?: Options,
  ): void;
  dispatchEvent(event: Event): boolean;
}

/** The standard class, seen that way. */
export function typedEventTarget<Events>(): new () => TypedEventTarget<Events> {
  return EventTarget as unknown as new () => TypedEventTarget<Events>;
}

/** Dispatches one of those events. */
export type Tell<Events> = <K extends keyof Events & string>(type: K, detail: Events[K]) => void;
