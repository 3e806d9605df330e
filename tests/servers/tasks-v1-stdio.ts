/**
 * The server of 2025-11-25 tasks as a program. Environment:
 *
 * - TEST_POLL_MS=n       how often tasks want to be asked about
 * - TEST_NO_STATUS=1     do not tell that a task changed
 * - TEST_RECORD=file     write down what is said to it and which of its tasks were cancelled
 */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { RecordedLabels, recordStdin } from './shared/record.ts';
import { buildTasksV1Server, newTasksV1State } from './tasks-v1-server.ts';

const { env } = process;

recordStdin();
process.stdin.once('end', () => process.exit(0));
const state = newTasksV1State({
  pollMs: Number(env['TEST_POLL_MS'] ?? 20),
  notifies: env['TEST_NO_STATUS'] !== '1',
  cancelled: new RecordedLabels(),
});
void buildTasksV1Server(state).connect(new StdioServerTransport());
