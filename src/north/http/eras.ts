/** The parts that serve the clients of both eras, with everything that they show. */

import type { Gateway } from '../../core/gateway.ts';
import type { DirectView, HubView } from '../../core/session/kind.ts';
import { Hub } from '../hub/hub.ts';
import { LegacySessions } from '../legacy/sessions.ts';
import { ModernRequests } from '../modern/requests.ts';

export interface Eras {
  legacy: LegacySessions;
  modern: ModernRequests;
  /** Absent if only one server is shown. */
  hub: Hub | undefined;
}

export function createEras(
  gateway: Gateway,
  root: HubView | DirectView,
  { allowCommands, direct }: { allowCommands: boolean; direct: { taskAfterMs: number } },
): Eras {
  const hub = root.kind === 'hub' ? new Hub(gateway) : undefined;
  const options = { gateway, hub, mayRunCommands: allowCommands, taskAfterMs: direct.taskAfterMs };
  return { legacy: new LegacySessions(options), modern: new ModernRequests(options), hub };
}
