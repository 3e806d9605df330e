/**
 * Sign-in as a question: if a server requires a sign-in, the call waits, and the gateway asks the person to open a page. After the
 * sign-in, on this or another gateway, all calls of that principal to that server continue.
 */

import { whenAborted } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { hostOf } from '../../lib/host-of.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import type { LiveCall } from '../call/live-call.ts';
import { NotAnswered } from '../interaction/asked.ts';
import type { Answer } from '../interaction/interaction.ts';
import { requestOf, type Link } from '../interaction/link.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import type { Accounts, SignIn } from '../ports/accounts.ts';
import { LEAVE_RUNNING, type CallOutcome } from '../ports/connection.ts';
import type { NeededSignIn } from '../ports/accounts.ts';
import type { SignInWatch } from './watch.ts';

/** A server may require more scopes after each sign-in. The limit stops a server that never accepts a token. */
const MAX_SIGN_INS = 3;

export interface SignInGateParts {
  principal: string;
  accounts: Pick<Accounts, 'findSignIn'>;
  watch: Pick<SignInWatch, 'on'>;
  interactions: InteractionRouter;
  /** Called when the gateway asks a person to sign in. */
  onAsked: (signIn: SignIn) => void;
  questionTimeoutMs: number;
  clock: Clock;
  log: Log;
}

type Refused = Extract<CallOutcome, { kind: 'unreachable' }> & { signIn: NeededSignIn };

export function needsSignIn(outcome: CallOutcome): outcome is Refused {
  return outcome.kind === 'unreachable' && outcome.signIn !== undefined;
}

export class SignInGate {
  readonly #parts: SignInGateParts;

  constructor(parts: SignInGateParts) {
    this.#parts = parts;
  }

  /**
   * Waits for the sign-in and then continues the call. `keep` stores the resume point before the question is asked; `goOn` repeats the
   * refused request.
   */
  async pass(
    call: LiveCall,
    refused: Refused,
    { keep, goOn }: { keep: () => void; goOn: () => Promise<CallOutcome> },
  ): Promise<CallOutcome> {
    let outcome: CallOutcome = refused;
    for (let asked = 1; needsSignIn(outcome) && asked <= MAX_SIGN_INS; asked += 1) {
      const { signIn } = outcome;
      if (signIn.url === undefined || call.stop.aborted) return outcome;
      keep();
      const failure = await this.#wait(call, { ...signIn, url: signIn.url });
      if (call.stop.aborted) return STOPPED;
      if (failure !== undefined) {
        return { kind: 'unreachable', reason: `${failure}, and the call was not made`, failure: 'sign_in' };
      }
      outcome = await goOn();
    }
    if (!needsSignIn(outcome)) return outcome;
    const { issuer, scopes } = outcome.signIn;
    const wanted = scopes.length === 0 ? '' : ` (it requires ${scopes.join(' ')})`;
    const reason = `the server still refuses the call after ${MAX_SIGN_INS} sign-ins to ${hostOf(issuer)}${wanted}`;
    return { kind: 'unreachable', reason, failure: 'no_token' };
  }

  /** Resolves with `undefined` once the call can continue, or with the reason why it fails. */
  async #wait(call: LiveCall, signIn: AskableSignIn): Promise<string | undefined> {
    const { principal, watch, interactions, clock, log } = this.#parts;
    const { server, id, issuer } = signIn;
    const { stop } = call;
    const host = hostOf(issuer);
    const [withdrawn, taken] = [new AbortController(), new AbortController()];
    const clean: (() => void)[] = [];
    const over = new Promise<'signed in' | 'late' | 'stopped'>((resolve) => {
      clean.push(
        watch.on(principal, server, () => resolve('signed in')),
        clock.after(signIn.expiresAt - clock.now(), () => resolve('late'), { unref: true }),
        whenAborted(stop, () => resolve('stopped')),
      );
    });
    try {
      // The sign-in may have been completed since the server refused the call.
      if ((await this.#isOver(id)) || stop.aborted) return undefined;
      log.info('sign_in_required', { server, issuer, tool: call.request.tool });
      // A task survives the end of this process.
      if (call.caller.followsApproval) call.promote('sign_in');
      interactions.rejectWhere(
        ({ signIn: other, link }) => other !== undefined && other.id !== id && isOf(link, call),
        'another link replaces this one',
      );
      this.#parts.onAsked(signIn);
      const asking = this.#ask(call, signIn, { withdrawn: withdrawn.signal, taken: taken.signal });
      const first = await Promise.race([over, asking]);
      // Accepting means only that the person has opened the page.
      const end = isAccepted(first) ? await over : first;
      if (end === 'stopped') {
        if (stop.reason !== LEAVE_RUNNING) withdrawn.abort(stop.reason);
        return undefined;
      }
      if (end === 'signed in') {
        log.info('signed_in', { server, issuer });
        if (await this.#isOver(id)) await this.#settle(call, id);
        else withdrawn.abort(new Error('the sign-in was completed by another link'));
        return undefined;
      }
      if (end === 'late' || (end instanceof NotAnswered && end.status === 'expired')) {
        withdrawn.abort(new Error('the sign-in was not completed in time'));
        return `the sign-in to ${host} was not completed in time`;
      }
      if (end instanceof Error)
        return `the request to sign in to ${host} could not be shown to anyone (${end.message})`;
      return `the request to sign in to ${host} was ${end['action'] === 'decline' ? 'declined' : 'cancelled'}`;
    } finally {
      for (const each of clean) each();
      // After a shutdown, the next run of the program uses the answer.
      if (stop.reason !== LEAVE_RUNNING) taken.abort();
    }
  }

  async #isOver(id: string): Promise<boolean> {
    try {
      return (await this.#parts.accounts.findSignIn(id)) === undefined;
    } catch (error) {
      // Unknown, so the call keeps waiting.
      this.#parts.log.warn('sign_in_not_found', { error: messageOf(error) });
      return false;
    }
  }

  /** Returns the answer, or the error if there is none. */
  async #ask(
    { id: callId }: LiveCall,
    { id, server, issuer, scopes, url, expiresAt }: AskableSignIn,
    { withdrawn, taken }: { withdrawn: AbortSignal; taken: AbortSignal },
  ): Promise<Answer | Error> {
    const { interactions, questionTimeoutMs, clock } = this.#parts;
    try {
      return await interactions.ask(server, {
        kind: 'elicitation',
        params: {
          mode: 'url',
          elicitationId: id,
          url,
          message: `${messageFor({ server, issuer, scopes })} The call then continues automatically.`,
        },
        signIn: { id, issuer, scopes },
        callId,
        key: `sign-in:${id}`,
        fromGateway: true,
        detached: true,
        timeoutMs: Math.max(1, Math.min(questionTimeoutMs, expiresAt - clock.now())),
        withdrawn,
        taken,
      });
    } catch (error) {
      return error instanceof Error ? error : new Error(messageOf(error));
    }
  }

  /** Answers the question, if it is still open, because the sign-in is complete. */
  async #settle(call: LiveCall, id: string): Promise<void> {
    const { interactions, log } = this.#parts;
    const asked = interactions.openWhere(({ signIn, link }) => signIn?.id === id && isOf(link, call));
    for (const question of asked) {
      try {
        await interactions.answer(question.id, question.kind, { action: 'accept' }, 'link');
      } catch (error) {
        // The call continues anyway, and the question ends with it.
        log.warn('question_not_settled', { requestId: question.id, error: messageOf(error) });
      }
    }
  }
}

type AskableSignIn = NeededSignIn & { url: string };

const STOPPED: CallOutcome = { kind: 'lost', reason: 'the call was stopped before the sign-in was completed' };

const isAccepted = (end: Answer | Error | string): boolean =>
  typeof end === 'object' && !(end instanceof Error) && end['action'] === 'accept';

function isOf(link: Link, { id, taskId }: LiveCall): boolean {
  const asking = requestOf(link);
  return asking !== undefined && (asking.callId === id || (taskId !== undefined && asking.taskId === taskId));
}

/** The text of the question: the server, the authorization server and the scopes. */
export function messageFor({ server, issuer, scopes }: Pick<NeededSignIn, 'server' | 'issuer' | 'scopes'>): string {
  const granted = scopes.length === 0 ? '' : ` It asks for: ${scopes.join(', ')}.`;
  return `Sign in to use ${server}: the page leads you to ${hostOf(issuer)}.${granted}`;
}
