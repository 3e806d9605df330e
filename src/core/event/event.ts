/** Events of a session. Each event reaches the client once, at the end of a reply or through `await_activity`. */

export type EventType =
  | 'notification'
  | 'elicitation_request'
  | 'elicitation_expired'
  | 'sampling_request'
  | 'sampling_expired'
  | 'task_created'
  | 'task_completed'
  | 'task_failed'
  | 'task_cancelled'
  | 'task_expired'
  | 'server_added'
  | 'server_removed'
  | 'server_connected'
  | 'server_disconnected'
  | 'server_reconnected'
  | 'events_dropped';

export interface SessionEvent {
  /** Monotonic ULID: strictly increasing within the process. */
  id: string;
  sessionId: string;
  type: EventType;
  /** The server it concerns; empty if it concerns the session itself. */
  server: string;
  createdAt: number;
  data: Record<string, unknown>;
  /** A reply with it was being sent when the process ended: the client may have seen it. */
  maybeSeen?: true;
}
