/** What clients asked, what they were told, and what was done to the gateways, all in one order. */
import type { Json, Told } from './told.ts';

/** A call of a tool behind the gateway; its label is in what it sends and in what it gets. */
export interface LoadCall {
  label: string;
  server: string;
  tool: string;
}

export interface Exchange {
  client: string;
  sent: number;
  tool: string;
  args: Json;
  /** Of `execute_tool`. */
  call?: LoadCall;
  /** There only if the whole reply has arrived. */
  received?: number;
  told?: Told;
  /** Why there is no reply, in the words of a gateway that could not serve it. */
  failed?: { at: number; why: string };
}

/** What is done to gateways, or to their database. */
export type FaultKind =
  | 'kill'
  /** Stopped beyond its lease, then continued. */
  | 'pause'
  | 'stop'
  /** Without the database beyond its lease. */
  | 'partition'
  | 'cut'
  | 'database restart'
  | 'slow database';

/** What happens by itself where other programs take the processor: a gateway comes too late to renew its lease. */
export type Mishap = 'lapse';

export interface Fault {
  kind: FaultKind | Mishap;
  from: number;
  /** When all was well again. */
  to: number;
}

/** A client was told something that no client should be told, such as that its session is not known. */
export interface Refusal {
  client: string;
  at: number;
  what: string;
}

export class History {
  readonly exchanges: Exchange[] = [];
  readonly refusals: Refusal[] = [];
  readonly faults: Fault[] = [];
  readonly mishaps: Fault[] = [];
  /** Tasks that would not end. */
  readonly stuck = new Set<string>();
  /** When each moment was. */
  readonly #times: number[] = [Date.now()];

  /** The next moment: moments only say what was earlier. */
  moment(): number {
    return this.#times.push(Date.now()) - 1;
  }

  /** With the seconds of its minute, as in logs; only for people. */
  #when(moment: number | undefined): string {
    const time = moment === undefined ? undefined : this.#times[moment];
    return time === undefined ? '?' : `${moment}@${new Date(time).toISOString().slice(17, 23)}`;
  }

  begin(start: Pick<Exchange, 'client' | 'tool' | 'args' | 'call'>): Exchange {
    const exchange: Exchange = { ...start, sent: this.moment() };
    this.exchanges.push(exchange);
    return exchange;
  }

  /** Begins a fault; what it returns ends it. */
  fault(kind: FaultKind): () => void {
    const fault: Fault = { kind, from: this.moment(), to: Infinity };
    this.faults.push(fault);
    return () => {
      fault.to = this.moment();
    };
  }

  /** Between these times, a gateway may have been without its lease. */
  lapsed(from: number, to: number): void {
    const until = this.#times.findLastIndex((time) => time <= to);
    this.mishaps.push({ kind: 'lapse', from: this.#times.findIndex((time) => time >= from), to: until });
  }

  /** To be read by people. */
  lines(): string[] {
    const faults = [...this.faults, ...this.mishaps].map(({ kind, from, to }): [number, string] => [
      from,
      `${this.#when(from)}-${this.#when(to)} FAULT ${kind}`,
    ]);
    const exchanges = this.exchanges.map(({ client, sent, received, tool, args, told, failed }): [number, string] => {
      const said = told === undefined ? (failed?.why ?? 'nothing') : JSON.stringify(told);
      return [
        sent,
        `${this.#when(sent)}-${this.#when(received ?? failed?.at)} ${client} ${tool} ${JSON.stringify(args)} => ${said}`,
      ];
    });
    return [...faults, ...exchanges].toSorted(([a], [b]) => a - b).map(([, line]) => line);
  }

  refused(client: string, what: string): void {
    this.refusals.push({ client, at: this.moment(), what });
  }
}
