/**
 * The v1 server as a program. Environment:
 *
 * - TEST_START_LOG=file            append the process id at each start
 * - TEST_EXIT_AT_START=1           exit at once
 * - TEST_EXIT_AFTER_MS=n           exit after n milliseconds
 * - TEST_IGNORE_STDIN_END=1        live on when stdin ends
 * - TEST_IGNORE_SIGTERM=1          live on after SIGTERM
 * - TEST_SILENT_UNTIL_INIT=1       answer nothing that comes before `initialize`
 * - TEST_EXIT_ON_EARLY_REQUEST=1   exit when a request comes before `initialize`
 * - TEST_RECORD=file               write down what is said to it and which of its calls were cancelled
 */
import { appendFileSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { isInitializeRequest, isJSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { RecordedLabels, recordStdin } from './shared/record.ts';
import { buildV1Server, newV1State } from './v1-server.ts';

const { env } = process;

if (env['TEST_START_LOG'] !== undefined) appendFileSync(env['TEST_START_LOG'], `${process.pid}\n`);
if (env['TEST_EXIT_AT_START'] === '1') process.exit(1);
if (env['TEST_EXIT_AFTER_MS'] !== undefined) setTimeout(() => process.exit(1), Number(env['TEST_EXIT_AFTER_MS']));
if (env['TEST_IGNORE_SIGTERM'] === '1') process.on('SIGTERM', () => undefined);
if (env['TEST_IGNORE_STDIN_END'] === '1') setInterval(() => undefined, 60_000);
else process.stdin.once('end', () => process.exit(0));

const transport = new StdioServerTransport();
recordStdin();
void buildV1Server({ ...newV1State(), cancelled: new RecordedLabels() }).connect(transport);

const deliver = transport.onmessage;
let initialized = false;
transport.onmessage = (message) => {
  initialized ||= isInitializeRequest(message);
  if (!initialized && isJSONRPCRequest(message) && env['TEST_EXIT_ON_EARLY_REQUEST'] === '1') process.exit(1);
  if (!initialized && env['TEST_SILENT_UNTIL_INIT'] === '1') return;
  deliver?.(message);
};
