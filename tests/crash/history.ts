/** What clients asked, what they were told, and when the gateway was killed, all in one order. */
import type { Json, Told } from './told.ts';

/** A call of a tool behind the gateway; its label is in what it sends and in what it gets. */
export interface LoadCall {
  label: string;
  server: string;
  tool: string;
}

export interface Exchange {
  client: string;
  /** The run of the gateway that it was sent to. */
  run: number;
  sent: number;
  tool: string;
  args: Json;
  /** Of `execute_tool`. */
  call?: LoadCall;
  /** There only if the whole reply has arrived. */
  received?: number;
  told?: Told;
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
  readonly kills: number[] = [];
  /** Tasks that would not end. */
  readonly stuck = new Set<string>();
  #now = 0;

  /** The next moment: moments only say what was earlier. */
  moment(): number {
    this.#now += 1;
    return this.#now;
  }

  begin(start: Pick<Exchange, 'client' | 'run' | 'tool' | 'args' | 'call'>): Exchange {
    const exchange: Exchange = { ...start, sent: this.moment() };
    this.exchanges.push(exchange);
    return exchange;
  }

  killed(): void {
    this.kills.push(this.moment());
  }

  /** To be read by people. */
  lines(): string[] {
    const kills = this.kills.map((at): [number, string] => [at, `${at} KILLED`]);
    const exchanges = this.exchanges.map(({ client, run, sent, received, tool, args, told }): [number, string] => {
      const said = told === undefined ? 'nothing' : JSON.stringify(told);
      return [sent, `${sent}-${received ?? '?'} run ${run} ${client} ${tool} ${JSON.stringify(args)} => ${said}`];
    });
    return [...kills, ...exchanges].toSorted(([a], [b]) => a - b).map(([, line]) => line);
  }

  refused(client: string, what: string): void {
    this.refusals.push({ client, at: this.moment(), what });
  }
}
