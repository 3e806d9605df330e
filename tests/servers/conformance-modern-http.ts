import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
  type NodeIncomingMessageLike,
} from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { listen } from './shared/http-host.ts';
import { buildModernServer } from './conformance-modern-server.ts';
import { newTasksV2State } from './tasks-v2/state.ts';

export interface ConformanceHttp {
  readonly url: string;
  /** What went wrong without anybody to tell. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

export async function startModernHttp(): Promise<ConformanceHttp> {
  const state = newTasksV2State();
  const onerror = (error: unknown) => void state.errors.push(String(error));
  const announce = async (list: 'tools' | 'prompts'): Promise<void> => {
    if (list === 'tools') modern.notify.toolsChanged();
    else modern.notify.promptsChanged();
  };
  const modern = createMcpHandler(() => buildModernServer(state, announce), { legacy: 'reject', onerror });
  const handle = toNodeHandler(modern, { onerror });
  const guards = [localhostHostValidation(), localhostOriginValidation()];
  const host = await listen({
    port: undefined,
    onerror,
    async handle(request, response) {
      if (!guards.every((admits) => admits(request, response))) return;
      // Its type differs from what Node gives only in how it spells an absent property.
      await handle(request as NodeIncomingMessageLike, response);
    },
  });
  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    errors: state.errors,
    async close() {
      await modern.close();
      await host.close();
      state.forget();
    },
  };
}
