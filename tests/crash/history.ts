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

export interface Fault {
  kind: FaultKind;
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
  /** Tasks that would not end. */
  readonly stuck = new Set<string>();
  /** When each moment was, in seconds of its minute, as in logs; only for people. */
  readonly #clock: string[] = ['0'];

  /** The next moment: moments only say what was earlier. */
  moment(): number {
    this.#clock.push(new Date().toISOString().slice(17, 23));
    return this.#clock.length - 1;
  }

  #when(moment: number | undefined): string {
    return moment === undefined ? '?' : `${moment}@${this.#clock[moment] ?? ''}`;
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

  /** To be read by people. */
  lines(): string[] {
    const faults = this.faults.map(({ kind, from, to }): [number, string] => [
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
