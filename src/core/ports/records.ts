/** What a store keeps of a session and of an added server. */
import type { SessionEvent } from '../event/event.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { RememberedTools } from '../policy/remembered.ts';
import type { Owner, View } from '../session/kind.ts';
import type { Task } from '../task/task.ts';
import type { ServerPreferences } from './connection.ts';
import type { TokenFacts } from './identity.ts';
import type { ServerConfig } from './server-config.ts';

export interface SessionRecord {
  id: string;
  principal: string;
  createdAt: number;
  /** Refreshed from time to time while the session lives. */
  lastActiveAt: number;
  view: View;
  owner: Owner;
  /** Signs the state that the client carries between requests. */
  key?: string;
  /** The preferences of the client by server. */
  preferences?: Record<string, StoredPreferences>;
  /** The tools that a person has allowed for the rest of the session, by server. */
  remembered?: RememberedTools;
  /** The facts of the most recently used token. */
  facts?: TokenFacts;
}

/** The preferences in the record of a session; subscriptions have their own records. */
export type StoredPreferences = Pick<ServerPreferences, 'logLevel'>;

/** A resource subscription of a session. */
export interface SubscriptionRecord {
  id: string;
  sessionId: string;
  server: string;
  uri: string;
}

/** A server that a client added. */
export interface ServerRecord {
  /** Derived from owner and name. */
  id: string;
  /** The principal that added the server and alone can see it. */
  owner: string;
  name: string;
  config: ServerConfig;
  addedAt: number;
  /** The id of the session that added it. */
  addedBy: string;
}

/** The records of one session. */
export interface SessionRecords {
  session: SessionRecord;
  task: Task;
  question: Interaction;
  event: SessionEvent;
  subscription: SubscriptionRecord;
}

export type SessionRecordKind = keyof SessionRecords;
