/** The official client of the tasks extension, on top of the client of the v2 SDK. */
import { randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  type ApplicationInputHandler,
} from '@modelcontextprotocol/ext-tasks/client';
import type { JsonValue } from '@modelcontextprotocol/ext-tasks/core';
import type { ServerConfig } from '../../../../../src/core/ports/server-config.ts';
import type { Json } from '../../../../support/hub.ts';
import { owned } from '../../../../support/owned.ts';
import { answerTo, nameIn } from '../answers.ts';
import type { Via } from '../cells.ts';
import { calledWith, INFO, note, type Asked, type Fetch, type MatrixClient } from '../client.ts';
import { rawDispatch } from './raw-dispatch.ts';
import { MODERN, pidOf, v2Transport } from './v2.ts';

const CAPABILITIES = {
  elicitation: { form: {} },
  sampling: {},
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

const METHODS = { elicitation: 'elicitation/create', sampling: 'sampling/createMessage', roots: 'roots/list' };

const VIA: Record<string, Via> = { 'peer-request': 'request', 'request-retry': 'round', 'task-update': 'task' };

export async function extTasks(config: ServerConfig, fetch?: Fetch): Promise<MatrixClient> {
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: MODERN } } });
  const transport = v2Transport(config, fetch);
  await owned(client).connect(transport);
  const asked: Asked[] = [];
  const session = createTaskSessionFromClient<string>(client, {
    endpointId: randomUUID(),
    onInputRequest: answering(asked),
    rawDispatch: rawDispatch(transport),
    v2RequestFraming: { protocolVersion: MODERN, clientInfo: INFO, clientCapabilities: CAPABILITIES },
  });
  return {
    asked,
    call: async (tool, args = {}, { signal } = {}) => {
      const execution = await session.callTool<Json>(tool, args as Record<string, JsonValue>, {
        applicationContext: nameIn(args),
      });
      let cancelling: Promise<void> | undefined;
      const cancel = (): void => {
        cancelling = execution.cancel();
      };
      if (signal?.aborted) cancel();
      else signal?.addEventListener('abort', cancel);
      const { outcome } = await execution.settle();
      await cancelling;
      return calledWith(resultFromTaskOutcome(outcome), execution.kind === 'task');
    },
    pid: () => pidOf(transport),
    close: async () => {
      await session.close();
      await client.close();
    },
  };
}

function answering(asked: Asked[]): ApplicationInputHandler<string>['handle'] {
  return async ({ kind, params = {} }, { delivery, applicationContext }) => {
    const method = METHODS[kind];
    asked.push(note(method, params, VIA[delivery] ?? 'request', applicationContext));
    return answerTo(method, params) as never;
  };
}
