/** Every call of a session passes this gate before it is sent. Exists only if there are rules. */

import { unlessAborted, whenAborted } from '../../lib/abort.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { failureKindOf } from '../../lib/server-failure.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { CallRequest } from '../call/request.ts';
import { requestFrom } from '../call/stored-request.ts';
import { NotAnswered } from '../interaction/asked.ts';
import type { Answer } from '../interaction/interaction.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import { LEAVE_RUNNING, type CallOutcome, type IncomingQuestion } from '../ports/connection.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import type { ResumePoint } from '../task/task.ts';
import {
  decisionIn,
  approvalHash,
  questionAbout,
  readPoint,
  resumePoint,
  stricter,
  type ApprovalPoint,
} from './approval.ts';
import { decide, type MatchingRule } from './decide.ts';
import { hintsOf } from './hints.ts';
import { refused, type Refusal } from './refusal.ts';
import { Remembered, type RememberedTools } from './remembered.ts';
import { compileRule, type CompiledRule, type Rule } from './rule.ts';

/** Compiles the rules; each session has a gate that applies them. */
export function createPolicy(rules: readonly Rule[]): Policy {
  const compiled = rules.map(compileRule);
  return { gateFor: (parts) => new PolicyGate(compiled, parts) };
}

export interface Policy {
  gateFor: (parts: PolicyGateParts) => PolicyGate;
}

export interface PolicyGateParts {
  principal: string;
  interactions: InteractionRouter;
  questionTimeoutMs: number;
  /** The annotations of a tool; a promise if the list of tools has to be read first. */
  annotationsOf: (server: string, tool: string) => unknown;
  remembered: RememberedTools | undefined;
  configOf: (server: string) => ServerConfig | undefined;
  /** Called when the tools allowed for the rest of the session have changed. */
  onRemembered: () => void;
  log: Log;
}

/** How to send a call once it is allowed. */
interface Sending {
  /** Stores with the call's task, if any, what is needed to ask again after a restart. */
  keep: (point: ResumePoint) => void;
  send: () => Promise<CallOutcome>;
}

/** The limit on tools cached with their rules; clients can invent names. */
const MAX_TOOLS = 10_000;

export class PolicyGate {
  readonly remembered: Remembered;
  readonly #rules: readonly CompiledRule[];
  readonly #candidates = new Map<string, readonly CompiledRule[]>();
  readonly #parts: PolicyGateParts;

  constructor(rules: readonly CompiledRule[], parts: PolicyGateParts) {
    this.#rules = rules;
    this.#parts = parts;
    const { remembered: stored, configOf, onRemembered: changed } = parts;
    this.remembered = new Remembered({ stored, configOf, changed });
  }

  /** Sends the call if the rules allow it, or once a person has approved it. Otherwise the outcome gives the reason. */
  pass(call: LiveCall, sending: Sending): Promise<CallOutcome> {
    const verdict = this.#verdictOn(call.request);
    if (!(verdict instanceof Promise) && isAllowed(verdict)) return sending.send();
    return this.#passOnce(call, verdict, sending);
  }

  async #passOnce(
    call: LiveCall,
    deciding: MatchingRule | Promise<MatchingRule>,
    sending: Sending,
  ): Promise<CallOutcome> {
    const { request } = call;
    const { server, tool } = request;
    let verdict: MatchingRule;
    try {
      verdict = await deciding;
    } catch (error) {
      return unreadable(error);
    }
    if (isAllowed(verdict)) return sending.send();
    const { rule, index } = verdict;
    const isRemembered = rule.then === 'ask' && rule.remember === true && this.remembered.has(server, tool);
    if (isRemembered) return sending.send();
    this.#parts.log.info('rule_matched', { server, tool, rule: index, then: rule.then });
    if (rule.then === 'deny') return refused(request, { why: 'rule' }, rule);
    const argumentsHash = approvalHash(request);
    if (call.approved === argumentsHash) return sending.send();
    sending.keep(resumePoint(argumentsHash, rule, request));
    return this.#ask(call, { ...rule, argumentsHash }, sending.send);
  }

  /** The client's call behind a task that waited for an approval before a restart. */
  restored(stored: ResumePoint): Partial<CallRequest> {
    return requestFrom(readPoint(stored));
  }

  /** Resumes such a call: the answer may already exist, and counts only for the arguments it was given for. */
  async resume(call: LiveCall, stored: ResumePoint, send: () => Promise<CallOutcome>): Promise<CallOutcome> {
    const point = readPoint(stored);
    // The rules may have changed meanwhile. They can become stricter for a waiting call, but not allow it: a person was already asked.
    let rule: Rule | undefined;
    try {
      rule = (await this.#verdictOn(call.request))?.rule;
    } catch {
      // The server may be back when the answer arrives.
      return this.#ask(call, point, async () => this.#sendIfAsked(call, point, send));
    }
    if (rule?.then === 'deny') return refused(call.request, { why: 'rule' }, rule);
    return this.#ask(call, rule?.then === 'ask' ? stricter(point, rule) : point, send);
  }

  /** Sends an approved call, unless the current rules would have denied it or required a person. */
  async #sendIfAsked(
    { request }: LiveCall,
    { approver }: ApprovalPoint,
    send: () => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    let rule: Rule | undefined;
    try {
      rule = (await this.#verdictOn(request))?.rule;
    } catch (error) {
      return unreadable(error);
    }
    if (rule?.then === 'deny') return refused(request, { why: 'rule' }, rule);
    if (rule?.then === 'ask' && rule.approver === 'person' && approver !== 'person') {
      return refused(request, { why: 'unanswered', reason: 'a rule now requires a person to decide' }, rule);
    }
    return send();
  }

  #verdictOn({ server, tool, args }: CallRequest): MatchingRule | Promise<MatchingRule> {
    const candidates = this.#rulesFor(server, tool);
    const verdict = decide(candidates, args, undefined);
    if (verdict !== 'hints') return verdict;
    const annotations = this.#parts.annotationsOf(server, tool);
    const withHints = (known: unknown): MatchingRule => {
      const decided = decide(candidates, args, hintsOf(known));
      return decided === 'hints' ? undefined : decided;
    };
    return annotations instanceof Promise ? annotations.then(withHints) : withHints(annotations);
  }

  #rulesFor(server: string, tool: string): readonly CompiledRule[] {
    // The name of a server has no line break.
    const key = `${server}\n${tool}`;
    const known = this.#candidates.get(key);
    if (known !== undefined) return known;
    const { principal } = this.#parts;
    const found = this.#rules.filter(({ isFor }) => isFor(server, tool, principal));
    if (this.#candidates.size >= MAX_TOOLS) this.#candidates.clear();
    this.#candidates.set(key, found);
    return found;
  }

  async #ask(
    call: LiveCall,
    asked: Pick<Rule, 'message' | 'remember' | 'approver' | 'timeoutMs'> & Pick<ApprovalPoint, 'argumentsHash'>,
    send: () => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const { request, stop } = call;
    const { log, questionTimeoutMs } = this.#parts;
    const { server, tool } = request;
    const { argumentsHash, approver, timeoutMs = questionTimeoutMs } = asked;
    if (approvalHash(request) !== argumentsHash) {
      return refused(
        request,
        { why: 'unanswered', reason: 'its arguments differ from those in the approval request' },
        asked,
      );
    }
    const approval = { tool, argumentsHash, ...(approver === 'person' && { approver }) };
    const taken = new AbortController();
    // A task survives this process.
    if (call.caller.followsApproval) call.promote('approval');
    try {
      const answer = await this.#answerTo(call, {
        kind: 'elicitation',
        params: questionAbout(request, approval, asked),
        approval,
        key: `approval:${argumentsHash}`,
        taken: taken.signal,
        timeoutMs,
      });
      if (stop.aborted) return STOPPED;
      if (answer instanceof Error) return refused(request, whyUnanswered(answer, timeoutMs), asked);
      const decision = decisionIn(answer);
      log.info('approval_decided', { server, tool, decision, argumentsHash });
      if (decision === 'deny' || decision === 'declined') return refused(request, { why: 'denied' }, asked);
      if (decision === 'cancelled') return refused(request, { why: 'dismissed' }, asked);
      if (decision === 'always' && asked.remember === true) this.remembered.add(server, tool);
      // Consumed before the server can receive the call.
      call.approval = { use: () => taken.abort() };
      call.approved = argumentsHash;
      return await send();
    } finally {
      // After a shutdown, the next process uses the answer.
      if (stop.reason !== LEAVE_RUNNING) taken.abort();
    }
  }

  /** The answer, or why there is none. */
  async #answerTo(
    { id: callId, request: { server }, stop }: LiveCall,
    question: Omit<IncomingQuestion, 'callId' | 'detached' | 'withdrawn'>,
  ): Promise<Answer | Error> {
    const withdrawn = new AbortController();
    const forget = whenAborted(stop, () => {
      if (stop.reason !== LEAVE_RUNNING) withdrawn.abort(stop.reason);
    });
    const { signal } = withdrawn;
    const asking = this.#parts.interactions.ask(server, {
      ...question,
      callId,
      fromGateway: true,
      detached: true,
      withdrawn: signal,
    });
    try {
      return await unlessAborted(asking, stop, () => new Error('stopped'));
    } catch (error) {
      return error instanceof Error ? error : new Error(messageOf(error));
    } finally {
      forget();
    }
  }
}

const STOPPED: CallOutcome = { kind: 'lost', reason: 'the call was stopped before it was approved' };

function whyUnanswered(error: Error, afterMs: number): Refusal {
  if (error instanceof NotAnswered && error.status === 'expired') return { why: 'expired', afterMs };
  return { why: 'unanswered', reason: error.message };
}

/** Without the list of tools, no call is made. */
function unreadable(error: unknown): CallOutcome {
  const failure = failureKindOf(error);
  const reason = `the rules need the annotations of its tools: ${messageOf(error)}`;
  return { kind: 'unreachable', reason, ...(failure !== undefined && { failure }) };
}

const isAllowed = (verdict: MatchingRule): verdict is undefined =>
  verdict === undefined || verdict.rule.then === 'allow';
