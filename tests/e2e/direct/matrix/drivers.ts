/** Who plays each kind of client, and through which doors. */
import type { ClientKind } from './cells.ts';
import type { Open } from './client.ts';
import { extTasks } from './clients/ext-tasks.ts';
import { rawRounds, rawTasks } from './clients/raw.ts';
import { v1Asked, v1Tasks, v1ToolsOnly } from './clients/v1.ts';
import { v2Asked, v2Rounds } from './clients/v2.ts';

export type Door = 'http' | 'stdio';

export interface Driver {
  player: string;
  open: Open;
}

/** The first of each kind plays it through both doors, the others over HTTP alone. */
const PLAYERS: Record<ClientKind, readonly [Driver, ...Driver[]]> = {
  tools: [{ player: 'SDK v1', open: v1ToolsOnly }],
  asked: [
    { player: 'SDK v1', open: v1Asked },
    { player: 'SDK v2', open: v2Asked },
  ],
  tasks: [{ player: 'SDK v1', open: v1Tasks }],
  rounds: [
    { player: 'SDK v2', open: v2Rounds },
    { player: 'by hand', open: rawRounds },
  ],
  extension: [
    { player: 'ext-tasks', open: extTasks },
    { player: 'by hand', open: rawTasks },
  ],
};

export function driversOf(kind: ClientKind, door: Door): readonly Driver[] {
  return door === 'http' ? PLAYERS[kind] : PLAYERS[kind].slice(0, 1);
}
