/** The ways into the gateway, so that one flow can be told once and walked through each of them. */
import { httpGateway, type Servers, type SettingsInput } from '../../support/gateway.ts';
import { hubOverHttp, hubOverStdio, type ClientKind, type HubClient } from '../../support/hub.ts';

export type Door = 'http' | 'stdio';

export interface Way {
  door: Door;
  kind: ClientKind;
}

export const DOORS: readonly Door[] = ['http', 'stdio'];

/** Every client through every door. */
export const WAYS: readonly Way[] = DOORS.flatMap((door) =>
  (['v1', 'v2', 'modern'] as const).map((kind) => ({ door, kind })),
);

export async function hubThrough(
  { door, kind }: Way,
  servers: Servers,
  settings: SettingsInput = {},
): Promise<HubClient> {
  if (door === 'stdio') return hubOverStdio(servers, settings, kind);
  return hubOverHttp((await httpGateway(servers, settings)).url, kind);
}
