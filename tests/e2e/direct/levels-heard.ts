import type { LegacyWire } from './legacy-wire.ts';

/** The levels of what a client is told when the server logs something at each of them. */
export async function levelsHeard(wire: LegacyWire): Promise<unknown[]> {
  const stream = await wire.callStream('talk');
  await stream.result();
  return stream.told('notifications/message').map(({ level }) => level);
}
