/**
 * The server of the tasks extension as a program. Environment:
 *
 * - TEST_POLL_MS=n       how often tasks want to be asked about
 * - TEST_NO_STATUS=1     do not tell that a task changed
 * - TEST_RECORD=file     write down what is said to it and which of its tasks were cancelled
 */
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { RecordedLabels, recordStdin } from './shared/record.ts';
import type { Message } from './tasks/state.ts';
import { listenForTasks } from './tasks-v2/listen.ts';
import { buildTasksV2Server, newTasksV2State } from './tasks-v2-server.ts';

const { env } = process;

recordStdin();
process.stdin.once('end', () => process.exit(0));
const state = newTasksV2State({
  pollMs: Number(env['TEST_POLL_MS'] ?? 20),
  notifies: env['TEST_NO_STATUS'] !== '1',
  cancelled: new RecordedLabels(),
});

/** Takes out what concerns the listening to tasks. */
class ListeningTransport extends StdioServerTransport {
  readonly #listening = new Map<unknown, () => void>();

  override async start(): Promise<void> {
    const deliver = this.onmessage;
    this.onmessage = (message: JSONRPCMessage) => {
      if (!this.#takes(message as Message)) deliver?.(message);
    };
    await super.start();
  }

  #takes(message: Message): boolean {
    if (message.method === 'notifications/cancelled') {
      const requestId = message.params?.['requestId'];
      this.#listening.get(requestId)?.();
      return this.#listening.delete(requestId);
    }
    const stop = listenForTasks(state, message, (sent) => {
      this.send(sent).catch((error: unknown) => console.error(String(error)));
    });
    if (stop !== undefined) this.#listening.set(message.id, stop);
    return stop !== undefined;
  }
}

serveStdio(() => buildTasksV2Server(state), {
  legacy: 'reject',
  transport: new ListeningTransport(),
  onerror: (error) => console.error(error.message),
});
