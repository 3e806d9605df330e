import type { CallToolResult, Task, ToolCallStream } from '../client/types.ts';
import { within } from '../lib/timers.ts';
import { comeBack } from './come-back.ts';
import { Failure } from './failure.ts';
import { Desk } from './questions/desk.ts';
import type { PreparedAnswers } from './questions/prepared.ts';
import type { Prompter } from './terminal/prompter.ts';
import { whatNow } from './terminal/what-now.ts';
import type { Visit } from './visit.ts';

export interface Followed {
  /** What the line on the terminal shows. */
  label: string;
  /** Aborting the signal stops the work on the server. */
  start(signal: AbortSignal): ToolCallStream;
  /** What the end of our time means for the work. */
  whenStopped: 'cancel' | 'leave';
  answers: PreparedAnswers;
  /** Told of each change of the task. */
  onTask?(task: Task): void;
}

/** How long the server has to take a cancellation before we go all the same. */
const CANCEL_MS = 3000;

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
  #task: Task | undefined;
  #leave: (failure: Failure) => void = () => {};

  constructor(visit: Visit, followed: Followed) {
    this.#visit = visit;
    this.#followed = followed;
    const { client, screen, stop, label } = visit;
    const { signal: over } = this.#ended;
    this.#desk = new Desk({
      client,
      screen,
      prepared: followed.answers,
      label,
      over,
      onInterrupt: async (prompter) => this.#decide(prompter),
    });
    client.addEventListener('progressNotification', ({ detail }) => screen.live?.update(detail), { signal: over });
    client.addEventListener('disconnected', ({ detail }) => this.#lost(detail.reason), { signal: over });
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
      this.#task = message.task;
      this.#followed.onTask?.(message.task);
      const { statusMessage } = message.task;
      if (statusMessage !== undefined) this.#visit.screen.live?.update({ message: statusMessage });
    }
    throw new Failure('server_error', 'the call ended without a result');
  }

  #lost(reason: string): void {
    const { screen, label } = this.#visit;
    // A call that the server does not keep ends with the connection, and says so itself.
    if (this.#task !== undefined) screen.note(`lost the connection to ${label}, trying again: ${reason}`);
  }

  /** The person pressed Ctrl-C. Tells whether what runs goes on. */
  async #decide(prompter: Prompter): Promise<boolean> {
    switch (await whatNow(prompter, this.#canLeave(), this.#ended.signal)) {
      case 'cancel':
        await this.#cancel();
        return false;
      case 'leave':
        this.#visit.keepSession();
        this.#leave(new Failure('left_running', `left running${this.#wayBack()}`, { taskId: this.#task?.taskId }));
        return false;
      case 'go on':
        return true;
    }
  }

  /** Only what the server keeps can be left. One of the older protocol asks once: its question would go with us. */
  #canLeave(): boolean {
    const { server, info } = this.#visit;
    const keepsQuestions = info.era !== 'legacy' || !this.#desk.hasQuestions;
    return this.#task !== undefined && 'url' in server.config && keepsQuestions;
  }

  async #cancel(): Promise<void> {
    this.#visit.screen.live?.update({ message: 'cancelling' });
    if (await this.#stopWork()) return;
    this.#leave(new Failure('cancelled', 'cancelled; the server has not confirmed it'));
  }

  /** Our time is over, or somebody ended the program. */
  async #stopped(reason: Failure): Promise<Failure> {
    if (this.#followed.whenStopped === 'cancel') {
      await this.#stopWork();
      return reason;
    }
    this.#visit.keepSession();
    const { code, message } = reason;
    return new Failure(code, `${message}; the task goes on${this.#wayBack()}`, { taskId: this.#task?.taskId });
  }

  /** Tells whether the call has ended for it. */
  async #stopWork(): Promise<boolean> {
    this.#cancelled.abort();
    const settled = this.#stream.then(
      () => true,
      () => true,
    );
    return (await within(CANCEL_MS, settled)) === true;
  }

  #wayBack(): string {
    const { server, client, flags } = this.#visit;
    if (this.#task === undefined) return '';
    const session = client.sessionId ?? flags.session;
    return `\ncome back with: ${comeBack(server.name, this.#task.taskId, { ...flags, session })}`;
  }
}
