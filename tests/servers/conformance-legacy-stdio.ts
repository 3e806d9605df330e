/** The conformance server of the 2025-11-25 protocol as a program. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { buildLegacyServer, TASKS } from './conformance-legacy-server.ts';
import { newTasksV1State } from './tasks-v1/state.ts';

process.stdin.once('end', () => process.exit(0));
void buildLegacyServer(newTasksV1State(TASKS), new Set()).connect(new StdioServerTransport());
