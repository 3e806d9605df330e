import type { QuestionBook } from '../question/book.ts';
import type { Question } from '../question/question.ts';
import type { TaskBook } from '../task/book.ts';
import { becomesTask, effectOn } from './effect.ts';
import type { Lending } from './lending.ts';
import type { LiveCall } from './live-call.ts';
import type { QuestionEffect } from './request.ts';

export interface AttributionParts {
  /** The calls that are at work, by their ids. */
  calls: ReadonlyMap<string, LiveCall>;
  tasks: TaskBook;
  questions: QuestionBook;
  lending: Lending;
  /** Makes a task of a call, because of a question. */
  promote: (call: LiveCall) => void;
}

/**
 * Which call a question belongs to. Where that is not known, the question has candidates: the calls that may have asked it.
 * A client that can be asked is asked on one of them, and the others wait. If it cannot be asked, all of them become tasks,
 * because only a reply can show the question. Once a single candidate has not ended, the question belongs to that one.
 */
export class Attribution {
  readonly #calls: ReadonlyMap<string, LiveCall>;
  readonly #tasks: TaskBook;
  readonly #questions: QuestionBook;
  readonly #lending: Lending;
  readonly #promote: (call: LiveCall) => void;

  constructor({ calls, tasks, questions, lending, promote }: AttributionParts) {
    this.#calls = calls;
    this.#tasks = tasks;
    this.#questions = questions;
    this.#lending = lending;
    this.#promote = promote;
  }

  /** The new question with its call and its task, as far as they are known. */
  opened(question: Question): Question {
    if (question.taskId !== undefined) return question;
    if (question.callId !== undefined) return this.#owned(question, question.callId);
    // A question that was asked with a task is opened a moment after it came.
    const known = this.#withLiveCandidates(question);
    const only = onlyCandidate(known);
    if (only !== undefined) return this.#owned(known, only);
    return this.#lending.isOn ? this.#lending.lend(known) : this.#withHost(known);
  }

  /** A call has ended: fewer calls may have asked what it may have asked. */
  callEnded(call: LiveCall): void {
    if (this.#questions.size === 0) return;
    if (this.#lending.isOn) {
      this.#lending.passOn(call);
      return;
    }
    for (const question of this.#questions.mayBlock(call.id)) {
      if (question.candidates !== undefined) this.#reconsider(question, call);
    }
  }

  /** The requests other than calls that may have asked this question have ended: it is one of the calls, or over. */
  othersEnded(questionId: string): void {
    const question = this.#questions.find(questionId);
    if (question?.candidates === undefined || this.#lending.isOn) return;
    const { calls } = question.candidates;
    if (calls.length > 0) this.#reconsider({ ...question, candidates: { calls, others: false } });
    else this.#questions.rejectWhere(({ id }) => id === questionId, 'the call has ended');
  }

  /** Questions that this task may have asked, and that its client does not get with another call. */
  unclaimed(taskId: string): Question[] {
    const call = this.#callOf(taskId);
    if (call === undefined) return [];
    return this.#questions
      .mayBlock(call.id)
      .filter(({ id, callId, toolsOnly }) => toolsOnly || (callId === undefined && !this.#questions.isShown(id)));
  }

  /** From now on the client is asked this question through the call behind the task. */
  claim(question: Question, taskId: string): void {
    const call = this.#callOf(taskId);
    if (call !== undefined) this.#record({ ...question, callId: call.id, borrowed: true, taskId });
  }

  /** The client does not answer the question itself. Every call that may wait for it becomes a task, so that a reply shows it. */
  leaveToTools(questionId: string): void {
    const open = this.#questions.find(questionId);
    if (open === undefined) return;
    const question = { ...open, toolsOnly: true };
    this.#questions.update(question);
    const owner = question.borrowed === true ? undefined : this.#calls.get(question.callId ?? '');
    for (const call of owner === undefined ? this.#candidates(question) : [owner]) {
      if (call.taskId !== undefined && call.id !== question.callId) this.#announceAgain(question, call.taskId);
      else if (becomesTask(effectOn(call, question))) this.#promote(call);
    }
  }

  /** Those who follow the task decide again how its client gets the question. */
  #announceAgain({ id: questionId }: Question, taskId: string): void {
    this.#tasks.apply(taskId, { type: 'question_closed', questionId });
    this.#tasks.apply(taskId, { type: 'question_opened', questionId, certain: false });
  }

  /** Whether an open question remains when this call, which it names, is stopped. */
  outlives(question: Question, call: LiveCall): boolean {
    if (question.borrowed !== true) return false;
    if (this.#lending.isOn) return this.#lending.lender(question.server, { except: call, question }) !== undefined;
    return question.candidates?.calls.some((id) => id !== call.id && this.#calls.has(id)) === true;
  }

  #reconsider(before: Question, ended?: LiveCall): void {
    const wasHost = ended !== undefined && before.callId === ended.id;
    // The client has the question in a reply to the ended call, and comes back with the answer.
    const beingAnswered = wasHost && this.#questions.isShown(before.id) && !ended.abort.signal.aborted;
    const left = this.#withLiveCandidates(wasHost ? withoutHost(before) : before);
    this.#questions.update(left);
    const only = onlyCandidate(left);
    let now = left;
    if (only !== undefined) now = beingAnswered ? this.#tied(left, only) : this.#owned(left, only);
    else if (left.callId === undefined && !beingAnswered) now = this.#withHost(left);
    this.#record(now);
  }

  /** Records what is now known of a question. */
  #record(question: Question): void {
    const { id: questionId, taskId } = question;
    this.#questions.update(question);
    // After the book: those who follow the task look there.
    if (taskId !== undefined) this.#tasks.apply(taskId, { type: 'question_opened', questionId, certain: true });
    this.#questions.desks.offer(question);
  }

  /** The question of this call. */
  #owned(question: Question, callId: string): Question {
    const call = this.#calls.get(callId);
    // Nobody should wait out a timeout for a question that can be answered now.
    if (call !== undefined && becomesTask(effectOn(call, question))) this.#promote(call);
    return this.#tied(question, callId);
  }

  #tied({ candidates: _candidates, borrowed: _borrowed, ...question }: Question, callId: string): Question {
    const taskId = this.#calls.get(callId)?.taskId;
    return { ...question, callId, ...(taskId !== undefined && { taskId }) };
  }

  /** Sees to it that the client gets the question, whichever of its calls asked. */
  #withHost(question: Question): Question {
    const open = this.#candidates(question).filter(({ answered }) => !answered);
    const on = (effect: QuestionEffect): LiveCall[] => open.filter((call) => effectOn(call, question) === effect);
    if (on('ask').length > 0) return question;
    const [host] = on('reply');
    if (host === undefined) {
      for (const call of on('promote')) this.#promote(call);
      return question;
    }
    this.#promote(host);
    return {
      ...question,
      callId: host.id,
      borrowed: true,
      ...(host.taskId !== undefined && { taskId: host.taskId }),
    };
  }

  #callOf(taskId: string): LiveCall | undefined {
    return [...this.#calls.values()].find((call) => call.taskId === taskId);
  }

  #candidates({ candidates }: Question): LiveCall[] {
    return (candidates?.calls ?? []).flatMap((id) => this.#calls.get(id) ?? []);
  }

  #withLiveCandidates(question: Question): Question {
    const { candidates, ...rest } = question;
    const calls = this.#candidates(question).map(({ id }) => id);
    const others = candidates?.others === true;
    return calls.length > 0 || others ? { ...rest, candidates: { calls, others } } : rest;
  }
}

function onlyCandidate({ candidates }: Question): string | undefined {
  const [only, ...more] = candidates?.calls ?? [];
  return more.length === 0 && candidates?.others !== true ? only : undefined;
}

function withoutHost({ callId: _callId, taskId: _taskId, borrowed: _borrowed, ...question }: Question): Question {
  return question;
}
