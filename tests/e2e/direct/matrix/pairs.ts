/** What the tests walk through: the cells of the matrix, each with those who play its client through one door. */
import { CELLS, CLIENTS, SERVERS, type Cell } from './cells.ts';
import { driversOf, type Door, type Driver } from './drivers.ts';

export interface Pair extends Cell, Driver {
  /** The two in words, for the title. */
  who: string;
  what: string;
}

export function pairsOver(door: Door): Pair[] {
  return CELLS.flatMap((cell) =>
    driversOf(cell.client, door).map((driver) => ({
      ...cell,
      ...driver,
      who: CLIENTS[cell.client],
      what: SERVERS[cell.server],
    })),
  );
}
