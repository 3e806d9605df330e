/**
 * The v2 server as a program, for both eras. Environment:
 *
 * - TEST_START_LOG=file      append the process id at each start
 * - TEST_MODERN_ONLY=1       reject 2025-era clients
 */
import { appendFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { buildV2Server, newV2State } from './v2-server.ts';

const { env } = process;

if (env['TEST_START_LOG'] !== undefined) appendFileSync(env['TEST_START_LOG'], `${process.pid}\n`);

const state = newV2State();
serveStdio(() => buildV2Server(state), {
  legacy: env['TEST_MODERN_ONLY'] === '1' ? 'reject' : 'serve',
  onerror: (error) => console.error(error.message),
});
