import { setTimeout } from 'node:timers/promises';
import { TaskClientError } from '../client/task-client-error.ts';
import type { CallToolResult, Task, ToolCallStream } from '../client/types.ts';
import { within } from '../lib/timers.ts';
import { comeBack } from './come-back.ts';
import { Failure } from './failure.ts';
import { Desk } from './questions/desk.ts';
import type { PreparedAnswers } from './questions/prepared.ts';
import type { Prompter } from './terminal/prompter.ts';
import { whatNow, type Stoppable } from './terminal/what-now.ts';
import type { Visit } from './visit.ts';

export interface Followed {
  /** What the line on the terminal shows. */
  label: string;
  /** Aborting the signal stops the work on the server. */
  start(signal: AbortSignal): ToolCallStream;
  /** The task, where one is only looked at: it goes on when we stop. A call is cancelled then. */
  taskId?: string;
  answers: PreparedAnswers;
  /** Told of each change of the task. */
  onTask?(task: Task): void;
}

/** How long the server has to take a cancellation before we go all the same. */
const CANCEL_MS = 3000;

/** How long it then has to show that it is there, and has heard of it. */
const CONFIRM_MS = 1500;
const CONFIRM_POLL_MS = 200;

const ASKS_ONCE = 'It cannot be left running now: a server of the older protocol asks only once, and has just asked.';

/** Follows a call, or a task that is there already, to its end: shows how far it is, and answers what it asks. */
export async function follow(visit: Visit, followed: Followed): Promise<CallToolResult> {
  const follower = new Follower(visit, followed);
  try {
    return await follower.result();
  } finally {
    follower.close();
  }
}

class Follower {
  readonly #visit: Visit;
  readonly #followed: Followed;
  readonly #stream: ToolCallStream;
  readonly #desk: Desk;
  readonly #cancelled = new AbortController();
  readonly #ended = new AbortController();
  #taskId: string | undefined;
  /** The session that the server knew us by last: while the connection is lost, there is none to ask for. */
  #session: string | undefined;
  /** The connection is lost, and not yet made anew. */
  #away = false;
  /** The person cancelled it. */
  #cancelling = false;
  #leave: (failure: Failure) => void = () => {};

  constructor(visit: Visit, followed: Followed) {
    this.#visit = visit;
    this.#followed = followed;
    this.#taskId = followed.taskId;
    const { client, screen, stop, label, flags } = visit;
    const { signal: over } = this.#ended;
    this.#session = client.sessionId ?? flags.session;
    this.#desk = new Desk({
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
      stop.onInterrupt(() => void this.#desk.ask(async (prompter) => this.#decide(prompter)));
    }
    screen.live?.show(followed.label);
    this.#stream = followed.start(this.#cancelled.signal);
  }

  async result(): Promise<CallToolResult> {
    const { stop } = this.#visit;
    const left = new Promise<never>((_resolve, reject) => {
      this.#leave = reject;
    });
    try {
      return await stop.unless(Promise.race([this.#messages(), left]));
    } catch (error) {
      // What was cancelled is told of once it is known whether the server took it.
      if (this.#cancelling && error instanceof TaskClientError) return await stop.unless(left);
      throw error === stop.signal.reason ? await this.#stopped(error as Failure) : error;
    }
  }

  close(): void {
    const { stop, screen } = this.#visit;
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
      if (statusMessage !== undefined) this.#visit.screen.live?.update({ message: statusMessage });
    }
    throw new Failure('server_error', 'the call ended without a result');
  }

  #lost(reason: string): void {
    const { screen, label } = this.#visit;
    this.#away = true;
    // A call that the server does not keep ends with the connection, and says so itself.
    if (this.#taskId === undefined) return;
    screen.note(`lost the connection to ${label}, trying again: ${reason}`);
    screen.live?.update({ trouble: 'connection lost, reconnecting' });
  }

  #back(): void {
    const { client, screen } = this.#visit;
    if (this.#away) screen.live?.update({ trouble: undefined });
    this.#away = false;
    this.#session = client.sessionId ?? this.#session;
  }

  /** The person pressed Ctrl-C. Tells whether what runs goes on. */
  async #decide(prompter: Prompter): Promise<boolean> {
    switch (await whatNow(prompter, this.#stoppable(), this.#ended.signal)) {
      case 'cancel':
        await this.#cancel();
        return false;
      case 'leave':
        this.#visit.keepSession();
        this.#leave(new Failure('left_running', `${this.#farewell()}${this.#wayBack()}`, { taskId: this.#taskId }));
        return false;
      case 'go on':
        return true;
    }
  }

  /** Only what the server keeps can be left. One of the older protocol asks once: its question would go with us. */
  #stoppable(): Stoppable {
    const { server, info } = this.#visit;
    if (this.#followed.taskId !== undefined) return { kind: 'task' };
    if (this.#taskId === undefined || !('url' in server.config)) return { kind: 'call', leaving: 'impossible' };
    if (info.traits.sessions && this.#desk.hasQuestions) return { kind: 'call', leaving: 'impossible', why: ASKS_ONCE };
    return { kind: 'call', leaving: this.#away ? 'uncertain' : 'possible' };
  }

  #farewell(): string {
    if (this.#away) return 'left; the connection is lost, so it is not known whether the server still has the task';
    return this.#followed.taskId === undefined ? 'left running' : 'stopped waiting; the task goes on';
  }

  async #cancel(): Promise<void> {
    this.#visit.screen.live?.update({ message: 'cancelling' });
    this.#cancelling = true;
    const ended = await this.#stopWork();
    if (ended === 'with a result') return;
    const confirmed = ended === 'without one' && (await this.#hasHeard());
    const what = this.#followed.taskId === undefined ? 'call' : 'task';
    const message = confirmed ? `the ${what} was cancelled` : 'cancelled; the server has not confirmed it';
    this.#leave(new Failure('cancelled', message, { confirmed }));
  }

  /** Stops the call, and tells how far that is known. */
  async #whatBecameOfIt(): Promise<{ words: string; details: Record<string, unknown> }> {
    const ended = await this.#stopWork();
    if (ended === 'with a result') return { words: 'the call has just ended', details: {} };
    const { server, info } = this.#visit;
    if (this.#taskId === undefined && 'url' in server.config && !info.traits.sessions) {
      // There the end of the request is all that a server hears; one like ours takes it for a client that may come back.
      const words =
        'the call was given up, and the server may go on with it; made again, it may still bring its result';
      return { words, details: { confirmed: false } };
    }
    const confirmed = ended === 'without one' && (await this.#hasHeard());
    const words = confirmed ? 'the call was cancelled' : 'the call was cancelled; the server has not confirmed it';
    if (this.#taskId === undefined) return { words, details: { confirmed } };
    return { words: confirmed ? words : `${words}${this.#wayBack()}`, details: { confirmed, taskId: this.#taskId } };
  }

  /** Whether the server shows that it got the cancellation. An answer to anything that was sent later is enough. */
  async #hasHeard(): Promise<boolean> {
    const { client } = this.#visit;
    if (this.#away) return false;
    const heard = this.#taskId === undefined ? client.ping().then(() => true) : this.#hasStopped(this.#taskId);
    return (await within(CONFIRM_MS, heard.catch(isAnswer))) === true;
  }

  /** Servers may take a cancellation and still need a moment to stop. */
  async #hasStopped(taskId: string): Promise<boolean> {
    const { client } = this.#visit;
    for (const giveUpAt = Date.now() + CONFIRM_MS; Date.now() < giveUpAt; await setTimeout(CONFIRM_POLL_MS)) {
      const { status } = await client.getTask(taskId);
      if (status !== 'working' && status !== 'input_required') return true;
    }
    return false;
  }

  /** Our time is over, or somebody ended the program. */
  async #stopped(reason: Failure): Promise<Failure> {
    const { code, message } = reason;
    if (this.#followed.taskId === undefined) {
      const { words, details } = await this.#whatBecameOfIt();
      return new Failure(code, `${message}; ${words}`, details);
    }
    this.#visit.keepSession();
    return new Failure(code, `${message}; the task goes on${this.#wayBack()}`, { taskId: this.#taskId });
  }

  /** Tells how the call has ended for it; `undefined` if it has not. */
  async #stopWork(): Promise<'with a result' | 'without one' | undefined> {
    this.#cancelled.abort();
    const settled = this.#stream.then(
      () => 'with a result' as const,
      () => 'without one' as const,
    );
    return within(CANCEL_MS, settled);
  }

  #wayBack(): string {
    const { server, flags } = this.#visit;
    if (this.#taskId === undefined) return '';
    return `\ncome back with: ${comeBack(server.name, this.#taskId, { ...flags, session: this.#session })}`;
  }
}

/** The server may say that there is no such task any more, which is what was wanted. */
function isAnswer(error: unknown): boolean {
  return error instanceof TaskClientError && error.kind === 'error';
}
