import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { buildLegacyServer, TASKS } from './conformance-legacy-server.ts';
import type { ConformanceHttp } from './conformance-modern-http.ts';
import { listen } from './shared/http-host.ts';
import { v1Sessions } from './shared/v1-sessions.ts';
import { newTasksV1State } from './tasks-v1/state.ts';

export async function startLegacyHttp(): Promise<ConformanceHttp> {
  const state = newTasksV1State(TASKS);
  const sessions = new Set<Server>();
  const table = v1Sessions(() => buildLegacyServer(state, sessions));
  const guards = [localhostHostValidation(), localhostOriginValidation()];
  const host = await listen({
    port: undefined,
    onerror: (error) => void state.errors.push(String(error)),
    async handle(request, response) {
      if (guards.every((admits) => admits(request, response))) await table.handle(request, response);
    },
  });
  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    errors: state.errors,
    async close() {
      await table.close();
      await host.close();
      state.forget();
    },
  };
}
