import type { Gateway } from '../../../core/gateway.ts';
import type { ServerConfig } from '../../../core/ports/server-config.ts';
import type { LiveViews } from '../live/live-views.ts';

/** The services that API routes use. */
export interface Services {
  gateway: Gateway;
  /** Live servers and sessions, which are not in the history. */
  live: LiveViews;
  startedAt: number;
  /** The address of the hub. */
  hubUrl: string;
  history: { keepMs: number; callsPerSecond: number };
  /** The server of the demonstration. */
  demo: ServerConfig | undefined;
}
