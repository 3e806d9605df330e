/** Turns the calls and questions of one session into history entries. */

import { roughSize } from '../../lib/rough-size.ts';
import { isObject } from '../../lib/values.ts';
import type { InFlight } from '../../lib/in-flight.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { CallReply } from '../call/request.ts';
import { isPerson, messageIn, modeOf } from './question-params.ts';
import type { Answer, Interaction, OpenInteraction } from '../interaction/interaction.ts';
import { requestOf } from '../interaction/link.ts';
import type { Progress } from '../ports/connection.ts';
import type { Answerer, QuestionEnd, RecordedSession, SessionListener } from '../session/session-listener.ts';
import type { EndedTask, WorkingTask } from '../task/task.ts';
import { endOf, endOfTask, shortened, type CallEnd } from './call-end.ts';
import { type AnsweredBy, type CallEntry, type EntryContent, type NewEntry, type Wait } from './entry.ts';
import type { CallRecord, QuestionRecord } from './record.ts';
import type { Recorder } from './recorder.ts';

export class SessionRecorder implements SessionListener {
  readonly #recorder: Recorder;
  readonly #about: RecordedSession;
  readonly #live: Pick<InFlight<string, LiveCall>, 'get'>;
  readonly #tasks = new LazyMap<string, CallRecord>();
  readonly #questions = new LazyMap<string, QuestionRecord>();

  constructor(recorder: Recorder, about: RecordedSession, live: Pick<InFlight<string, LiveCall>, 'get'>) {
    this.#recorder = recorder;
    this.#about = about;
    this.#live = live;
  }

  // --- Calls ---

  callBegan(call: LiveCall): void {
    if (this.#recorder.takesCall(call.startedAt)) this.#listed(call);
    else this.#recorder.addUnlisted(call, this);
  }

  callProgressed(call: LiveCall, progress: Progress): void {
    if (call.recorded !== undefined) this.#progressed(call.recorded, progress);
  }

  callPromoted(call: LiveCall, taskId: string): void {
    const record = this.entryOf(call);
    record.entry.taskId = taskId;
    this.#tasks.set(taskId, record);
    this.#recorder.changed(record);
  }

  callEnded(call: LiveCall, reply: Exclude<CallReply, { kind: 'task' }>): void {
    const end = endOf(reply);
    const failed = end.status === 'failed' || end.isError === true;
    const now = this.#recorder.clock.now();
    if (call.recorded === undefined) {
      this.#recorder.removeUnlisted(call);
      if (!failed || !this.#recorder.takesSpecialCall(now)) {
        this.#recorder.count(this.#about.principal, call, now, failed);
        return;
      }
    }
    this.#end(this.entryOf(call), end, now);
  }

  callLeft(call: LiveCall): void {
    this.#recorder.removeUnlisted(call);
    const { recorded } = call;
    // The next owner of the session knows only tasks.
    if (recorded === undefined || recorded.entry.taskId !== undefined) return;
    this.#end(recorded, { status: 'lost' }, this.#recorder.clock.now());
  }

  taskRestored(task: WorkingTask): CallRecord {
    const { id: taskId, callId = taskId, server, tool, args, program, createdAt, statusMessage } = task;
    const record = this.#newCall({ id: callId, server, tool, args, program, startedAt: createdAt });
    const { entry } = record;
    entry.taskId = taskId;
    if (statusMessage !== undefined) entry.statusMessage = shortened(statusMessage);
    record.adopt = (stored) => this.#adopt(record, stored);
    this.#tasks.set(taskId, record);
    for (const question of this.#questions.values()) {
      if (question.call === undefined && question.taskId === taskId) this.#attach(question, record);
    }
    this.#recorder.changed(record);
    return record;
  }

  taskEnded(task: EndedTask): void {
    const record = this.#tasks.get(task.id);
    if (record === undefined) return;
    this.#tasks.delete(task.id);
    this.#end(record, endOfTask(task), task.updatedAt);
  }

  // --- Questions ---

  questionChanged(interaction: OpenInteraction, presented: boolean): void {
    // A question that the client does not see does not concern it.
    if (interaction.audience === 'none') return;
    const record = this.#questions.get(interaction.id) ?? this.#newQuestion(interaction);
    const { entry } = record;
    const link = requestOf(interaction.link);
    const task = link?.taskId === undefined ? undefined : this.#tasks.get(link.taskId);
    const live = link?.callId === undefined ? undefined : this.#live.get(link.callId);
    const call = task ?? (live && this.entryOf(live));
    record.taskId = link?.taskId;
    if (call !== record.call) {
      this.#detach(record, this.#recorder.clock.now());
      if (call !== undefined) this.#attach(record, call);
    }
    // Asked before a restart, by a call that may not continue.
    if (call === undefined && link?.taskId !== undefined) record.adopt = (stored) => adoptCall(record, stored);
    entry.presented = presented;
    if (interaction.modelFailure !== undefined) entry.reason = shortened(interaction.modelFailure);
    this.#recorder.changed(record);
  }

  questionAnswered(id: string, by: Answerer): void {
    const record = this.#questions.get(id);
    if (record === undefined) return;
    record.entry.answeredBy = this.#answeredBy(by);
    this.#recorder.changed(record);
  }

  #answeredBy({ via, principal = this.#about.principal, name }: Answerer): AnsweredBy {
    return { principal, via, ...(name !== undefined && { name }) };
  }

  questionEnded(interaction: Interaction, { status, reason, by }: QuestionEnd): void {
    const { id, params } = interaction;
    const answer = 'answer' in interaction ? interaction.answer : undefined;
    const record = this.#questions.get(id);
    if (record === undefined) return;
    this.#questions.delete(id);
    const { entry } = record;
    entry.status = status;
    entry.endedAt = this.#recorder.clock.now();
    if (reason === undefined) delete entry.reason;
    else entry.reason = shortened(reason);
    if (by === undefined) delete entry.answeredBy;
    else entry.answeredBy = this.#answeredBy(by);
    if (entry.approval !== undefined) entry.approval = { ...entry.approval, ...decisionIn(answer) };
    delete entry.presented;
    // A person needs the whole question while it is open.
    if (roughSize(params, this.#recorder.entryBytes) > this.#recorder.entryBytes) {
      entry.truncated = true;
      this.#recorder.setContent(record, {}, 0);
    }
    this.#detach(record, entry.endedAt);
    this.#recorder.changed(record);
  }

  leave(): void {
    this.#recorder.leave(this.#about.id);
    this.#tasks.clear();
    this.#questions.clear();
  }

  // --- Entries ---

  /** The entry of a call, created if missing. */
  entryOf(call: LiveCall): CallRecord {
    if (call.recorded !== undefined) return call.recorded;
    this.#recorder.removeUnlisted(call);
    return this.#listed(call);
  }

  #listed(call: LiveCall): CallRecord {
    if (call.recorded !== undefined) return call.recorded;
    const { id, startedAt, request } = call;
    const { server, tool, args, program } = request;
    const record = this.#newCall({ id, server, tool, args, program, startedAt });
    call.recorded = record;
    this.#keepContent(record, {});
    this.#recorder.changed(record);
    return record;
  }

  #newCall(
    about: Pick<CallEntry, 'id' | 'server' | 'tool' | 'startedAt'> &
      Pick<CallRecord, 'args'> & { program: string | undefined },
  ): CallRecord {
    const { id, server, tool, args, startedAt, program = this.#about.program() } = about;
    const { id: sessionId, principal, view } = this.#about;
    const entry: CallRecord['entry'] = {
      kind: 'call',
      id,
      principal,
      server,
      tool,
      sessionId,
      view,
      startedAt,
      status: 'running',
      waits: [],
      argumentBytes: roughSize(args, Infinity),
      ...(program !== undefined && { program }),
    };
    return { entry, args };
  }

  /** Continues the entry written before a restart, if any. */
  #adopt(record: CallRecord, stored: NewEntry | undefined): void {
    if (stored?.kind !== 'call') {
      if (record.content === undefined) this.#keepContent(record, {});
      return;
    }
    const { entry } = record;
    const { startedAt, progress } = stored;
    const now = entry.endedAt ?? this.#recorder.clock.now();
    const waits = new Map(entry.waits.map((wait) => [wait.questionId, wait]));
    // Questions that were not restored ended with the restart.
    const earlier = stored.waits.map((wait) => ({ to: now, ...wait, ...waits.get(wait.questionId), from: wait.from }));
    const open = new Set(entry.waits.filter(({ to }) => to === undefined).map(({ questionId }) => questionId));
    for (const wait of earlier) {
      if (open.has(wait.questionId)) delete (wait as Wait).to;
      waits.delete(wait.questionId);
    }
    entry.startedAt = startedAt;
    entry.waits = [...earlier, ...waits.values()];
    if (entry.progress === undefined && progress !== undefined) entry.progress = progress;
  }

  #progressed(record: CallRecord, { progress, total, message }: Progress): void {
    const { entry } = record;
    if (entry.endedAt !== undefined) return;
    entry.progress = {
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message: shortened(message) }),
    };
    if (message !== undefined) entry.statusMessage = shortened(message);
    this.#recorder.changed(record, { isProgress: true });
  }

  #end(record: CallRecord, { result, ...end }: CallEnd, now: number): void {
    const { entry } = record;
    if (entry.endedAt !== undefined) return;
    Object.assign(entry, end);
    entry.endedAt = now;
    entry.waits = entry.waits.map((wait) => ({ to: now, ...wait }));
    if (result !== undefined) entry.resultBytes = roughSize(result, Infinity);
    this.#keepContent(record, result === undefined ? {} : { result });
    this.#recorder.changed(record);
  }

  /** Keeps its arguments and its result unless they are too large. */
  #keepContent(record: CallRecord, { result }: Pick<EntryContent, 'result'>): void {
    const { entry, args } = record;
    const { entryBytes } = this.#recorder;
    const { argumentBytes, resultBytes = 0 } = entry;
    const [keepsArgs, keepsResult] = [argumentBytes <= entryBytes, resultBytes <= entryBytes];
    const content: EntryContent = {
      ...(keepsArgs && { arguments: args }),
      ...(keepsResult && result !== undefined && { result }),
    };
    const bytes = (keepsArgs ? argumentBytes : 0) + (keepsResult ? resultBytes : 0);
    const fits = this.#recorder.setContent(record, content, bytes);
    if (!fits || !keepsArgs || !keepsResult) entry.truncated = true;
  }

  #newQuestion({ id, kind, server, params, createdAt, expiresAt, approval, signIn }: OpenInteraction): QuestionRecord {
    const { id: sessionId, principal, program } = this.#about;
    const [name, mode, message] = [program(), modeOf(kind, params), messageIn(kind, params)];
    const entry: QuestionRecord['entry'] = {
      kind: 'question',
      id,
      asks: kind,
      principal,
      server,
      sessionId,
      status: 'open',
      createdAt,
      expiresAt,
      ...(name !== undefined && { program: name }),
      ...(mode !== undefined && { mode }),
      ...(message !== undefined && { message: shortened(message) }),
      ...(approval && { approval }),
      ...(signIn && { signIn: true as const }),
    };
    const record: QuestionRecord = { entry };
    if (!this.#recorder.setContent(record, { params }, roughSize(params, Infinity))) entry.truncated = true;
    this.#questions.set(id, record);
    return record;
  }

  /** The call waits for the answer, unless a program answers. */
  #attach(question: QuestionRecord, call: CallRecord): void {
    const { entry } = question;
    question.call = call;
    entry.callId = call.entry.id;
    entry.tool = call.entry.tool;
    if (call.entry.program !== undefined) entry.program = call.entry.program;
    if (!isPerson(entry.asks) || call.entry.endedAt !== undefined) return;
    this.#setWaits(call, [...call.entry.waits, { questionId: entry.id, from: this.#recorder.clock.now() }]);
  }

  #detach(question: QuestionRecord, now: number): void {
    const { call, entry } = question;
    if (call === undefined) return;
    question.call = undefined;
    if (call.entry.endedAt !== undefined) return;
    const waits = call.entry.waits.map((wait) => (wait.questionId === entry.id ? { to: now, ...wait } : wait));
    this.#setWaits(call, waits);
  }

  #setWaits(call: CallRecord, waits: Wait[]): void {
    call.entry.waits = waits;
    call.entry.status = waits.some(({ to }) => to === undefined) ? 'waiting' : 'running';
    this.#recorder.changed(call);
  }
}

/** Adopts the asking call as written before a restart. */
function adoptCall({ entry }: QuestionRecord, stored: NewEntry | undefined): void {
  if (stored?.kind !== 'question' || entry.callId !== undefined) return;
  const { callId, tool, program } = stored;
  Object.assign(
    entry,
    callId !== undefined && { callId },
    tool !== undefined && { tool },
    program !== undefined && { program },
  );
}

/** The decision of an approval; a denial has the status `declined`. */
function decisionIn(answer: Answer | undefined): { decision?: string } {
  const decision = isObject(answer?.['content']) ? answer['content']['decision'] : undefined;
  return typeof decision === 'string' ? { decision } : {};
}
