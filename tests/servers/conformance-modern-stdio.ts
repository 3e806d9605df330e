/** The conformance server of the 2026-07-28 protocol as a program. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { buildModernServer } from './conformance-modern-server.ts';
import { newTasksV2State } from './tasks-v2/state.ts';

process.stdin.once('end', () => process.exit(0));
const state = newTasksV2State();
serveStdio(
  () =>
    buildModernServer(state, (list, server) =>
      list === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged(),
    ),
  { legacy: 'reject', onerror: (error) => console.error(error.message) },
);
