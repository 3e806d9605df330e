import type { Gateway } from '../../../core/gateway.ts';
import type { ServerConfig } from '../../../core/ports.ts';
import type { LiveViews } from '../live/live-views.ts';

/** What the routes of the API work with. */
export interface Services {
  gateway: Gateway;
  /** Servers and sessions, which are not in the history, as they change. */
  live: LiveViews;
  startedAt: number;
  /** The address of the hub. */
  hubUrl: string;
  history: { keepMs: number; callsPerSecond: number };
  /** The server of the demonstration. */
  demo: ServerConfig | undefined;
}
