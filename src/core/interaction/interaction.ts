/**
 * An interaction is a request of a server that a person, a model or the client's program answers while the server works, or a
 * request of the gateway to approve a call, or to sign in before it.
 * It is open until it is answered, its time runs out, or the server does not want the answer any more; then it never
 * changes again.
 *
 *   open → accepted | declined | cancelled      an elicitation was answered
 *   open → completed                            a sampling or roots request was answered
 *   open → expired                              nobody answered in time
 *   open → rejected                             the client refused, the server withdrew it or is gone, or the session
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
  /** `error`: that of a client that refused to answer, as it is to reach the server. */
  | { status: 'rejected'; reason: string; error?: RpcFailure };

/** The call that an interaction of the gateway itself is about: whether it may be made. */
export interface Approval {
  tool: string;
  /** Of server, tool and arguments: the answer counts for this call only. The arguments are in the params. */
  argumentsHash: string;
  /** Not the tools of the hub. */
  approver?: 'person';
}

/** A question of the gateway itself to sign in at a server. */
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
  /** The server's own parameters, untouched; of an approval those of the gateway. */
  params: Record<string, unknown>;
  createdAt: number;
  expiresAt: number;
  /** It does not depend on the connection it came on. */
  detached?: boolean;
  /** The name under which the server asks it again after a restart. */
  key?: string;
  approval?: Approval;
  signIn?: AskedSignIn;
  /** Another question of the gateway that the tools of the hub do not answer: the model would decide for the person. */
  approver?: 'person';
  /** The call or task that asked, as far as it is known. */
  link: Link;
  /**
   * Who may answer it. `tools`: the client was asked and no person answered, so only the tools of the hub answer it now.
   * `none`: it belongs to no call and came while the client did not use its server; it is not shown until the client does.
   */
  audience: 'anyone' | 'tools' | 'none';
}

export type OpenInteraction = Asked & {
  status: 'open';
  /** The gateway answers it: with a rule of the config, or through a model. Clients are not asked meanwhile. */
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
