import { whenAborted } from '../lib/abort.ts';

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

/** Node 20 may forget to remove listeners when their signal is aborted, if there are several with a signal on one target. */
class SignalledTarget extends EventTarget {
  override addEventListener(...[type, listener, options]: Parameters<EventTarget['addEventListener']>): void {
    if (typeof options !== 'object' || options.signal === undefined) {
      super.addEventListener(type, listener, options);
      return;
    }
    const { signal, ...others } = options;
    if (signal.aborted) return;
    super.addEventListener(type, listener, others);
    whenAborted(signal, () => this.removeEventListener(type, listener, options));
  }
}

/** A standard target, seen that way. */
export function typedEventTarget<Events>(): new () => TypedEventTarget<Events> {
  return SignalledTarget as unknown as new () => TypedEventTarget<Events>;
}

/** Dispatches one of those events. */
export type Tell<Events> = <K extends keyof Events & string>(type: K, detail: Events[K]) => void;
