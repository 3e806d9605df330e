/** Turns the calls and questions of one session into audit lines. */

import type { InFlight } from '../../lib/in-flight.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { CallReply } from '../call/request.ts';
import { modeOf } from '../history/question-params.ts';
import { endOf, endOfTask, type CallEnd } from '../history/call-end.ts';
import type { Interaction, OpenInteraction } from '../interaction/interaction.ts';
import { requestOf } from '../interaction/link.ts';
import type { AnsweredBy } from '../history/entry.ts';
import { whyNotSent } from '../policy/refusal.ts';
import type { Answerer, QuestionEnd, RecordedSession, SessionListener } from '../session/session-listener.ts';
import type { EndedTask, WorkingTask } from '../task/task.ts';
import type { CallLine, NewLine, QuestionLine, SessionFacts } from './line.ts';

/** Takes the lines. */
export interface LineSink {
  now(): number;
  /** Whether lines include contents, and messages that may quote them. */
  readonly keepsContents: boolean;
  add(line: NewLine, content?: object): void;
  /** Gives the call a line before its end if it takes a while. */
  addRunning(call: LiveCall, writer: BeganWriter): void;
  /** The call has ended, or gets a line now. Returns whether it had none. */
  removeRunning(call: LiveCall): boolean;
}

export interface BeganWriter {
  /** Writes the `began` line of a call that is still running. */
  writeBegan(call: LiveCall): void;
}

/** A call that became a task. */
type TaskCall = Pick<CallLine, 'callId' | 'tool'> & { startedAt: number; program: string | undefined };

export class SessionAudit implements SessionListener, BeganWriter {
  readonly #audit: LineSink;
  readonly #about: RecordedSession;
  readonly #live: Pick<InFlight<string, LiveCall>, 'get'>;
  readonly #tasks = new Map<string, TaskCall>();
  /** Questions whose first line is written. */
  readonly #questions = new Set<string>();

  constructor(audit: LineSink, about: RecordedSession, live: Pick<InFlight<string, LiveCall>, 'get'>) {
    this.#audit = audit;
    this.#about = about;
    this.#live = live;
  }

  // --- Calls ---

  callBegan(call: LiveCall): void {
    this.#audit.addRunning(call, this);
  }

  callProgressed(): void {}

  callPromoted(call: LiveCall, taskId: string): void {
    const { id: callId, startedAt, request } = call;
    this.#tasks.set(taskId, { callId, tool: request.tool, startedAt, program: request.program });
    if (this.#audit.removeRunning(call)) this.writeBegan(call);
  }

  writeBegan({ id: callId, taskId, startedAt, request }: LiveCall): void {
    const { server, tool, args, program } = request;
    const about = { callId, ...(taskId !== undefined && { taskId }), server, tool };
    const session = this.#session(program);
    this.#audit.add({ kind: 'call', event: 'began', at: startedAt, ...session, ...about }, args);
  }

  callEnded(call: LiveCall, reply: Exclude<CallReply, { kind: 'task' }>): void {
    this.#audit.removeRunning(call);
    this.#callEnded(call, endOf(reply));
  }

  callLeft(call: LiveCall): void {
    this.#audit.removeRunning(call);
    // The next owner of the session knows only tasks.
    if (call.taskId !== undefined) return;
    this.#callEnded(call, { status: 'lost', statusMessage: 'another gateway has the session' });
  }

  #callEnded({ id: callId, startedAt, request }: LiveCall, end: CallEnd): void {
    const { server, tool, args, program } = request;
    this.#end({ callId, server, tool, startedAt }, program, args, end);
  }

  taskRestored({ id, callId = id, tool, program, createdAt }: WorkingTask): undefined {
    this.#tasks.set(id, { callId, tool, startedAt: createdAt, program });
  }

  taskEnded(task: EndedTask): void {
    const known = this.#tasks.get(task.id);
    if (known === undefined) return;
    this.#tasks.delete(task.id);
    const { callId, tool, startedAt, program } = known;
    const about = { callId, taskId: task.id, server: task.server, tool, startedAt };
    this.#end(about, program, task.args, endOfTask(task));
  }

  #end(
    about: Pick<CallLine, 'callId' | 'taskId' | 'server' | 'tool' | 'startedAt'>,
    program: string | undefined,
    args: object,
    { status: outcome, isError, error, statusMessage, result }: CallEnd,
  ): void {
    // A server's error message may quote the arguments.
    const said = this.#audit.keepsContents ? error?.message : undefined;
    const reason = statusMessage ?? whyNotSent(result) ?? said;
    this.#audit.add(
      {
        kind: 'call',
        event: 'ended',
        at: this.#audit.now(),
        ...this.#session(program),
        ...about,
        outcome,
        ...(isError && { isError }),
        ...(error && { errorCode: error.code }),
        ...(reason !== undefined && { reason }),
      },
      args,
    );
  }

  // --- Questions ---

  questionChanged(interaction: OpenInteraction, _presented: boolean, restored: boolean): void {
    const { id } = interaction;
    if (this.#questions.has(id)) return;
    this.#questions.add(id);
    if (!restored) this.#asked(interaction);
  }

  questionAnswered(): void {}

  questionEnded(interaction: Interaction, { status, reason, by }: QuestionEnd): void {
    const { id, createdAt: askedAt } = interaction;
    // It may be answered before its first line is written.
    if (!this.#questions.delete(id)) this.#asked(interaction);
    const isAnswer = by !== undefined;
    const kind = isApproval(interaction) ? 'approval' : isAnswer ? 'answer' : 'question';
    const { principal } = this.#about;
    const isRefusal = isAnswer && status === 'rejected';
    const given = isAnswer && 'answer' in interaction ? interaction.answer : undefined;
    this.#audit.add(
      {
        kind,
        event: isAnswer ? 'given' : 'ended',
        at: this.#audit.now(),
        ...this.#question(interaction),
        askedAt,
        outcome: isRefusal ? 'refused' : status,
        ...(by && { answeredBy: { principal, ...known(by) } }),
        // The reason of a refusal contains text from the client.
        ...(reason !== undefined && (!isRefusal || this.#audit.keepsContents) && { reason }),
      },
      given,
    );
  }

  leave(): void {
    this.#tasks.clear();
    this.#questions.clear();
  }

  #asked(interaction: Interaction): void {
    const kind = isApproval(interaction) ? 'approval' : 'question';
    const about = this.#question(interaction);
    this.#audit.add({ kind, event: 'asked', at: interaction.createdAt, ...about }, interaction.params);
  }

  /** Who is asked what, and by which call if known. */
  #question(
    interaction: Interaction,
  ): SessionFacts & Omit<QuestionLine, 'v' | 'gateway' | 'n' | 'at' | 'kind' | 'event'> {
    const { id: questionId, kind: asks, server, params, link } = interaction;
    const { callId: linked, taskId } = requestOf(link) ?? {};
    const task = taskId === undefined ? undefined : this.#tasks.get(taskId);
    const request = linked === undefined ? undefined : this.#live.get(linked)?.request;
    const callId = task?.callId ?? linked;
    const tool = task?.tool ?? request?.tool;
    const mode = modeOf(asks, params);
    return {
      ...this.#session(task?.program ?? request?.program),
      questionId,
      asks,
      ...(mode !== undefined && { mode }),
      server,
      ...(tool !== undefined && { tool }),
      ...(callId !== undefined && { callId }),
      ...(taskId !== undefined && { taskId }),
    };
  }

  #session(program: string | undefined = this.#about.program()): SessionFacts {
    const { id: sessionId, principal, view } = this.#about;
    return { principal, ...(program !== undefined && { program }), sessionId, view };
  }
}

function known({ via, principal, name }: Answerer): Omit<AnsweredBy, 'principal'> & Partial<AnsweredBy> {
  return { ...(principal !== undefined && { principal }), via, ...(name !== undefined && { name }) };
}

/** The gateway itself asks whether a call may run. */
function isApproval(interaction: Interaction): boolean {
  return 'approval' in interaction && interaction.approval !== undefined;
}
