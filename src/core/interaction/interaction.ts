/**
 * An interaction is a server request that a person, a model or the client program answers while the server works, or a
 * request of the gateway to approve a call or to sign in first.
 * It is open until it is answered, times out, or is withdrawn; after that it never
 * changes again.
 *
 *   open → accepted | declined | cancelled      an elicitation was answered
 *   open → completed                            a sampling or roots request was answered
 *   open → expired                              no answer in time
 *   open → rejected                             the client refused, the server withdrew it or was lost, or the session
 *                                               ended
 */

import type { RpcFailure } from '../../lib/rpc-error.ts';
import type { Link } from './link.ts';

/** Requests to a person, to a model, or to the client's own program (for the folders it works in). */
export type InteractionKind = 'elicitation' | 'sampling' | 'roots';

/** What goes back to the server: an `ElicitResult`, a `CreateMessageResult` or a `ListRootsResult`. */
export type Answer = Record<string, unknown>;

export type InteractionOutcome =
  | { status: 'accepted' | 'declined' | 'cancelled' | 'completed'; answer: Answer }
  | { status: 'expired'; reason: string }
  /** `error`: the error of a client that refused, to be forwarded to the server. */
  | { status: 'rejected'; reason: string; error?: RpcFailure };

/** The call that an approval request of the gateway concerns. */
export interface Approval {
  tool: string;
  /** Hash of server, tool and arguments: the answer is valid for this call only. The arguments are in the params. */
  argumentsHash: string;
  /** Only a person may approve, not the hub tools. */
  approver?: 'person';
}

/** A request of the gateway to sign in to a server. */
export interface AskedSignIn {
  id: string;
  issuer: string;
  scopes: readonly string[];
}

interface Asked {
  id: string;
  sessionId: string;
  server: string;
  kind: InteractionKind;
  /** The server's unmodified parameters; for an approval, those of the gateway. */
  params: Record<string, unknown>;
  createdAt: number;
  expiresAt: number;
  /** It does not depend on the connection on which it arrived. */
  detached?: boolean;
  /** The key with which the server repeats it after a restart. */
  key?: string;
  approval?: Approval;
  signIn?: AskedSignIn;
  /** Another question of the gateway that only a person may answer: through the hub tools, the model would decide. */
  approver?: 'person';
  /** The call or task that asked, if known. */
  link: Link;
  /**
   * Who may answer it. `tools`: the client was asked and no person answered, so only the hub tools can answer now.
   * `none`: it belongs to no call and arrived while the client was not using the server; it stays hidden until the client does.
   */
  audience: 'anyone' | 'tools' | 'none';
}

export type OpenInteraction = Asked & {
  status: 'open';
  /** The gateway answers it with a rule or a model; clients are not asked meanwhile. */
  handledBy?: 'rule' | 'model';
  /** Why the model that was asked did not answer. */
  modelFailure?: string;
};
export type SettledInteraction = Asked & InteractionOutcome;
export type Interaction = OpenInteraction | SettledInteraction;

export type Settlement =
  | { type: 'answered'; answer: Answer }
  | { type: 'expired' }
  | { type: 'refused'; error: RpcFailure }
  | { type: 'rejected'; reason: string };

export function settle(interaction: OpenInteraction, event: Settlement): SettledInteraction {
  const { status: _open, handledBy: _handledBy, modelFailure: _failure, ...asked } = interaction;
  switch (event.type) {
    case 'answered':
      return { ...asked, status: answeredStatus(interaction.kind, event.answer), answer: event.answer };
    case 'expired':
      return { ...asked, status: 'expired', reason: 'not answered in time' };
    case 'refused':
      return { ...asked, status: 'rejected', reason: event.error.message, error: event.error };
    case 'rejected':
      return { ...asked, status: 'rejected', reason: event.reason };
  }
}

function answeredStatus(kind: InteractionKind, answer: Answer): 'accepted' | 'declined' | 'cancelled' | 'completed' {
  if (kind !== 'elicitation') return 'completed';
  switch (answer['action']) {
    case 'decline':
      return 'declined';
    case 'cancel':
      return 'cancelled';
    default:
      return 'accepted';
  }
}
