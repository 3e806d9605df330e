/** How the gateways on one store find each other and share work. Only a store that several gateways can use implements it. */
import type { SessionRecord } from './records.ts';

/** A gateway and its address; a gateway on stdio has none. */
export interface GatewayAddress {
  id: string;
  address?: string;
}

/** The usage of each shared limit, by limit and principal. */
export type LimitUsage = Record<string, Record<string, number>>;

export interface Renewal {
  /** The claims that other gateways have taken over. */
  lost: string[];
  /** The usage of each other gateway at its last renewal. */
  others: LimitUsage[];
}

/** Coordinates the gateways on one store. A claim is valid as long as the lease of its gateway. */
export interface ClusterStore {
  /** Identifies this gateway. */
  readonly gatewayId: string;
  /** Signs messages between gateways; shared by all of them. */
  readonly key: Buffer;
  /** How long a lease is valid without renewal. */
  readonly leaseMs: number;
  /** While true, no other gateway can have taken over the claims of this one. */
  readonly holdsLease: boolean;
  /** Publishes the address of this gateway. A previous gateway at this address is dead: its claims become free. */
  announce(address: string): Promise<void>;
  /** The gateway that holds this claim, if its lease is valid. */
  ownerOf(id: string): Promise<GatewayAddress | undefined>;
  /** All other gateways with valid leases. */
  others(): Promise<GatewayAddress[]>;
  /** Any other gateway with an address. */
  anyOther(): Promise<GatewayAddress | undefined>;
  /** Renews the lease and publishes the usage of this gateway. */
  renew(usage: LimitUsage): Promise<Renewal>;
  /** Calls the watcher when a commit finds that another gateway owns a session, until the returned function is called. */
  watchLost(watcher: () => void): () => void;
  /** Whether a gateway has left or lost its lease, so that its work must be taken over; true until `tookOver`. */
  anyGone(): Promise<boolean>;
  /** Confirms that the work reported by the last `anyGone` was taken over. Never fails. */
  tookOver(): Promise<void>;
  /** Tells other gateways that there may be work to take over. */
  notifyWorkLeft(): Promise<void>;
  /** The other gateways that own sessions of a principal. */
  gatewaysOf(principal: string): Promise<GatewayAddress[]>;
  /** The ids of the unclaimed sessions of a principal that have tasks or questions. */
  leftOf(principal: string): Promise<string[]>;
  /** The session of a principal that has this task or question. */
  sessionWith(kind: 'task' | 'question', id: string, principal: string): Promise<SessionRecord | undefined>;
}
