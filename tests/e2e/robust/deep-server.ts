/** A server by hand whose messages are nested so deeply that they can be read, but not written again. */
import { vi } from 'vitest';
import type { Json } from '../../support/hub.ts';
import { beginStream, oddServer, sendEvent, textResult, type Asked, type OddServer } from './odd-server.ts';

/** As text: such a value has no JSON. */
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

const TOOLS = ['result', 'error', 'notification', 'log', 'question', 'echo'];

export interface DeepServer extends OddServer {
  /** What it was answered when it asked. */
  answers: Json[];
  /** Lets the calls go on that were told to wait. */
  release: () => void;
}

export async function deepServer(): Promise<DeepServer> {
  const answers: Json[] = [];
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await oddServer({
    initialize: ({ reply }) =>
      reply({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {}, logging: {}, resources: {} },
        serverInfo: { name: 'deep', version: '1.0.0' },
      }),
    'logging/setLevel': ({ reply }) => reply({}),
    'tools/list': ({ reply }) => reply({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
    answer: ({ message, response }) => {
      answers.push(message);
      response.writeHead(202).end();
    },
    'tools/call': async (asked) => {
      const { name, arguments: args = {} } = asked.params as { name: string; arguments?: Json };
      if (args['wait'] === true) await released;
      await call(asked, name, answers);
    },
  });
  return { ...server, answers, release };
}

async function call({ message, response }: Asked, tool: string, answers: Json[]): Promise<void> {
  const id = JSON.stringify(message['id']);
  const write = (fields: string): void => void response.write(`data: {"jsonrpc":"2.0",${fields}}\n\n`);
  beginStream(response);
  switch (tool) {
    case 'result':
      write(`"id":${id},"result":{"content":[],"structuredContent":{"deep":${DEEP}}}`);
      break;
    case 'error':
      write(`"id":${id},"error":{"code":1,"message":"deep","data":${DEEP}}`);
      break;
    case 'notification':
      write(`"method":"notifications/resources/updated","params":{"uri":"deep:it","deep":${DEEP}}`);
      break;
    case 'log':
      write(`"method":"notifications/message","params":{"level":"error","data":${DEEP}}`);
      break;
    case 'question':
      write(
        `"id":"q","method":"elicitation/create","params":{"message":"Deep?","requestedSchema":` +
          `{"type":"object","properties":{"name":{"type":"string"}},"deep":${DEEP}}}`,
      );
      await vi.waitUntil(() => answers.length > 0, { timeout: 10_000 });
      break;
  }
  if (tool !== 'result' && tool !== 'error') sendEvent(response, { id: message['id'], result: textResult('done') });
  response.end();
}
