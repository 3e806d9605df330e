import { setTimeout } from 'node:timers/promises';
import { TaskClientError } from '../client/task-client-error.ts';
import type { CallToolResult, Task, ToolCallStream } from '../client/types.ts';
import { within } from '../lib/timers.ts';
import { taskResultCommand } from './suggested-command.ts';
import { Failure } from './failure.ts';
import { TerminalResponder } from './questions/terminal-responder.ts';
import type { PreparedAnswers } from './questions/prepared.ts';
import type { Prompter } from './terminal/prompter.ts';
import { whatNow, type Stoppable } from './terminal/what-now.ts';
import type { ServerSession } from './server/session.ts';

export interface FollowedCall {
  /** Shown on the progress line. */
  label: string;
  /** Aborting the signal stops the work on the server. */
  start(signal: AbortSignal): ToolCallStream;
  /** Set to follow an existing task, which continues when the command ends. A call is cancelled instead. */
  taskId?: string;
  answers: PreparedAnswers;
  /** Called after each change of the task. */
  onTask?(task: Task): void;
}

/** How long to wait until the server ends a cancelled call. */
const CANCEL_MS = 3000;

/** How long to wait for a sign that the server received the cancellation. */
const CONFIRM_MS = 1500;
const CONFIRM_POLL_MS = 200;

const ASKS_ONCE = 'You cannot leave it running: servers of the older protocol do not repeat a question.';

/** Follows a call or an existing task to its end: shows progress and answers questions. */
export async function followCall(session: ServerSession, followed: FollowedCall): Promise<CallToolResult> {
  const follower = new CallFollower(session, followed);
  try {
    return await follower.result();
  } finally {
    follower.close();
  }
}

class CallFollower {
  readonly #serverSession: ServerSession;
  readonly #followed: FollowedCall;
  readonly #stream: ToolCallStream;
  readonly #responder: TerminalResponder;
  readonly #cancelled = new AbortController();
  readonly #ended = new AbortController();
  #taskId: string | undefined;
  /** The last session id: while the connection is lost, the client has none. */
  #sessionId: string | undefined;
  /** The connection is lost and not yet restored. */
  #away = false;
  /** The person cancelled it. */
  #cancelling = false;
  #leave: (failure: Failure) => void = () => {};

  constructor(session: ServerSession, followed: FollowedCall) {
    this.#serverSession = session;
    this.#followed = followed;
    this.#taskId = followed.taskId;
    const { client, screen, stop, label, flags } = session;
    const { signal: over } = this.#ended;
    this.#sessionId = client.sessionId ?? flags.session;
    this.#responder = new TerminalResponder({
      client,
      screen,
      prepared: followed.answers,
      label,
      over,
      givenUp: this.#cancelled.signal,
      onInterrupt: async (prompter) => this.#decide(prompter),
    });
    client.addEventListener('progressNotification', ({ detail }) => screen.live?.update(detail), { signal: over });
    client.addEventListener('disconnected', ({ detail }) => this.#lost(detail.reason), { signal: over });
    client.addEventListener('connected', () => this.#back(), { signal: over });
    if (screen.attended) {
      stop.onInterrupt(() => void this.#responder.ask(async (prompter) => this.#decide(prompter)));
    }
    screen.live?.show(followed.label);
    this.#stream = followed.start(this.#cancelled.signal);
  }

  async result(): Promise<CallToolResult> {
    const { stop } = this.#serverSession;
    const left = new Promise<never>((_resolve, reject) => {
      this.#leave = reject;
    });
    try {
      return await stop.unless(Promise.race([this.#messages(), left]));
    } catch (error) {
      // A cancellation is reported when it is known whether the server received it.
      if (this.#cancelling && error instanceof TaskClientError) return await stop.unless(left);
      throw error === stop.signal.reason ? await this.#stopped(error as Failure) : error;
    }
  }

  close(): void {
    const { stop, screen } = this.#serverSession;
    this.#ended.abort();
    stop.onInterrupt(undefined);
    screen.live?.hide();
  }

  async #messages(): Promise<CallToolResult> {
    for await (const message of this.#stream) {
      if (message.type === 'result') return message.result;
      this.#taskId = message.task.taskId;
      this.#followed.onTask?.(message.task);
      const { statusMessage } = message.task;
      if (statusMessage !== undefined) this.#serverSession.screen.live?.update({ message: statusMessage });
    }
    throw new Failure('server_error', 'the call ended without a result');
  }

  #lost(reason: string): void {
    const { screen, label } = this.#serverSession;
    this.#away = true;
    // A call without a task ends with the connection, and reports its own error.
    if (this.#taskId === undefined) return;
    screen.note(`lost the connection to ${label}, trying again: ${reason}`);
    screen.live?.update({ trouble: 'connection lost, reconnecting' });
  }

  #back(): void {
    const { client, screen } = this.#serverSession;
    if (this.#away) screen.live?.update({ trouble: undefined });
    this.#away = false;
    this.#sessionId = client.sessionId ?? this.#sessionId;
  }

  /** The person pressed Ctrl-C. Resolves with whether the call continues. */
  async #decide(prompter: Prompter): Promise<boolean> {
    switch (await whatNow(prompter, this.#stoppable(), this.#ended.signal)) {
      case 'cancel':
        await this.#cancel();
        return false;
      case 'leave':
        this.#serverSession.keepSession();
        this.#leave(new Failure('left_running', `${this.#farewell()}${this.#resumeHint()}`, { taskId: this.#taskId }));
        return false;
      case 'go on':
        return true;
    }
  }

  /** Only a task can be left running. A server of the older protocol asks once: its question would be lost. */
  #stoppable(): Stoppable {
    const { server, info } = this.#serverSession;
    if (this.#followed.taskId !== undefined) return { kind: 'task' };
    if (this.#taskId === undefined || !('url' in server.config)) return { kind: 'call', leaving: 'impossible' };
    if (info.traits.sessions && this.#responder.hasQuestions)
      return { kind: 'call', leaving: 'impossible', why: ASKS_ONCE };
    return { kind: 'call', leaving: this.#away ? 'uncertain' : 'possible' };
  }

  #farewell(): string {
    if (this.#away) return 'stopped waiting; the connection is lost, so the server may no longer have the task';
    return this.#followed.taskId === undefined ? 'left running' : 'stopped waiting; the task continues';
  }

  async #cancel(): Promise<void> {
    this.#serverSession.screen.live?.update({ message: 'cancelling' });
    this.#cancelling = true;
    const ended = await this.#stopWork();
    if (ended === 'with a result') return;
    const confirmed = ended === 'without one' && (await this.#isConfirmed());
    const what = this.#followed.taskId === undefined ? 'call' : 'task';
    const message = confirmed ? `the ${what} was cancelled` : 'cancelled; the server has not confirmed it';
    this.#leave(new Failure('cancelled', message, { confirmed }));
  }

  /** Stops the call and describes what is known about its end. */
  async #abandonCall(): Promise<{ words: string; details: Record<string, unknown> }> {
    const ended = await this.#stopWork();
    if (ended === 'with a result') return { words: 'the call has just ended', details: {} };
    const { server, info } = this.#serverSession;
    if (this.#taskId === undefined && 'url' in server.config && !info.traits.sessions) {
      // Such a server sees only that the request ended; it may keep the call for a client that returns.
      const words = 'the call was abandoned; the server may continue it, and the same call may later return its result';
      return { words, details: { confirmed: false } };
    }
    const confirmed = ended === 'without one' && (await this.#isConfirmed());
    const words = confirmed ? 'the call was cancelled' : 'the call was cancelled; the server has not confirmed it';
    if (this.#taskId === undefined) return { words, details: { confirmed } };
    return { words: confirmed ? words : `${words}${this.#resumeHint()}`, details: { confirmed, taskId: this.#taskId } };
  }

  /** Whether the server shows that it received the cancellation. A reply to any later request is enough. */
  async #isConfirmed(): Promise<boolean> {
    const { client } = this.#serverSession;
    if (this.#away) return false;
    const confirmed = this.#taskId === undefined ? client.ping().then(() => true) : this.#hasStopped(this.#taskId);
    return (await within(CONFIRM_MS, confirmed.catch(isAnswer))) === true;
  }

  /** A server may accept a cancellation and still need a moment to stop. */
  async #hasStopped(taskId: string): Promise<boolean> {
    const { client } = this.#serverSession;
    for (const giveUpAt = Date.now() + CONFIRM_MS; Date.now() < giveUpAt; await setTimeout(CONFIRM_POLL_MS)) {
      const { status } = await client.getTask(taskId);
      if (status !== 'working' && status !== 'input_required') return true;
    }
    return false;
  }

  /** `--timeout` or a signal ended the command. */
  async #stopped(reason: Failure): Promise<Failure> {
    const { code, message } = reason;
    if (this.#followed.taskId === undefined) {
      const { words, details } = await this.#abandonCall();
      return new Failure(code, `${message}; ${words}`, details);
    }
    this.#serverSession.keepSession();
    return new Failure(code, `${message}; the task continues${this.#resumeHint()}`, { taskId: this.#taskId });
  }

  /** Resolves with how the call ended; `undefined` if it has not. */
  async #stopWork(): Promise<'with a result' | 'without one' | undefined> {
    this.#cancelled.abort();
    const settled = this.#stream.then(
      () => 'with a result' as const,
      () => 'without one' as const,
    );
    return within(CANCEL_MS, settled);
  }

  #resumeHint(): string {
    const { server, flags } = this.#serverSession;
    if (this.#taskId === undefined) return '';
    return `\ncome back with: ${taskResultCommand(server.name, this.#taskId, { ...flags, session: this.#sessionId })}`;
  }
}

/** The server may reply that the task is unknown, which confirms the cancellation too. */
function isAnswer(error: unknown): boolean {
  return error instanceof TaskClientError && error.kind === 'error';
}
