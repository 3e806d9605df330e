/**
 * The v2 server as a program, for both eras. Environment:
 *
 * - TEST_START_LOG=file      append the process id at each start
 * - TEST_MODERN_ONLY=1       reject 2025-era clients
 * - TEST_RECORD=file         write down what is said to it and which of its calls were cancelled
 */
import { appendFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { RecordedLabels, recordStdin } from './shared/record.ts';
import { buildV2Server, newV2State } from './v2-server.ts';

const { env } = process;

if (env['TEST_START_LOG'] !== undefined) appendFileSync(env['TEST_START_LOG'], `${process.pid}\n`);

recordStdin();
const state = { ...newV2State(), cancelled: new RecordedLabels() };
serveStdio(() => buildV2Server(state), {
  legacy: env['TEST_MODERN_ONLY'] === '1' ? 'reject' : 'serve',
  onerror: (error) => console.error(error.message),
});
