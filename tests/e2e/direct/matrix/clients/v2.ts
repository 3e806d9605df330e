/** The client of the v2 SDK, which speaks either era. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { CreateMessageResult, ElicitResult } from '@modelcontextprotocol/client';
import type { ServerConfig } from '../../../../../src/core/ports/server-config.ts';
import type { Json } from '../../../../support/hub.ts';
import { owned } from '../../../../support/owned.ts';
import { answerTo } from '../answers.ts';
import type { Via } from '../cells.ts';
import { calledWith, INFO, note, type Asked, type Fetch, type MatrixClient } from '../client.ts';

export const MODERN = '2026-07-28';

/** How the SDK begins what it reports of the rounds that it makes itself. */
const OF_ITS_OWN = 'Fulfilling input required';

export type V2Transport = StreamableHTTPClientTransport | StdioClientTransport;

export const v2Asked = async (config: ServerConfig, fetch?: Fetch): Promise<MatrixClient> =>
  open(config, 'legacy', 'request', fetch);

/** Answers the rounds of its calls by itself. */
export const v2Rounds = async (config: ServerConfig, fetch?: Fetch): Promise<MatrixClient> =>
  open(config, { pin: MODERN }, 'round', fetch);

async function open(
  config: ServerConfig,
  mode: 'legacy' | { pin: string },
  via: Via,
  fetch?: Fetch,
): Promise<MatrixClient> {
  const client = new Client(INFO, {
    capabilities: { elicitation: { form: {} }, sampling: {} },
    versionNegotiation: { mode },
  });
  const asked: Asked[] = [];
  const answer = (method: string, params: Json): Json => {
    asked.push(note(method, params, via));
    return answerTo(method, params);
  };
  client.setRequestHandler('elicitation/create', ({ method, params }) => answer(method, params) as ElicitResult);
  client.setRequestHandler(
    'sampling/createMessage',
    ({ method, params }) => answer(method, params) as CreateMessageResult,
  );
  const transport = v2Transport(config, fetch);
  await owned(client).connect(transport);
  return {
    asked,
    call: async (tool, args = {}, { signal, onProgress } = {}) => {
      const result = await client.callTool(
        { name: tool, arguments: args },
        {
          ...(signal && { signal }),
          ...(onProgress && {
            onprogress: ({ message }) => {
              if (!message?.startsWith(OF_ITS_OWN)) onProgress(message);
            },
          }),
        },
      );
      return calledWith(result, false);
    },
    pid: () => pidOf(transport),
    close: async () => {
      if (mode === 'legacy' && 'terminateSession' in transport) await transport.terminateSession();
      await client.close();
    },
  };
}

export function v2Transport(config: ServerConfig, fetch?: Fetch): V2Transport {
  return 'url' in config
    ? new StreamableHTTPClientTransport(new URL(config.url), { ...(fetch && { fetch }) })
    : new StdioClientTransport({ ...config, stderr: 'inherit' });
}

export function pidOf(transport: V2Transport): number | undefined {
  return 'pid' in transport ? (transport.pid ?? undefined) : undefined;
}
