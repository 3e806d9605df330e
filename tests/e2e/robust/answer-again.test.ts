import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { beginStream, oddServer, sendEvent, textResult } from './odd-server.ts';

const QUESTION = {
  id: 'question',
  method: 'elicitation/create',
  params: { message: 'What is your name?', requestedSchema: { type: 'object', properties: {} } },
};

test('H-9: an answer is sent again when its connection breaks', async () => {
  let waiting: { stream: ServerResponse; id: unknown } | undefined;
  const answers: Json[] = [];
  const server = await oddServer({
    'tools/call': ({ message, response }) => {
      waiting = { stream: response, id: message['id'] };
      beginStream(response);
      sendEvent(response, QUESTION);
    },
    answer: ({ message, request, response }) => {
      answers.push(message);
      if (answers.length === 1) {
        request.socket.destroy();
        return;
      }
      response.writeHead(202).end();
      if (waiting === undefined) return;
      sendEvent(waiting.stream, { id: waiting.id, result: textResult('thank you') });
      waiting.stream.end();
    },
  });
  const { url } = await httpGateway({ odd: { url: server.url } });
  const hub = await hubOverHttp(url);
  const promoted = await hub.call('execute_tool', { server: 'odd', tool: 'any' });
  const [question] = promoted.elicitations;
  const answer = { request_id: question?.requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.call('respond_to_elicitation', answer)).isError).toBe(false);
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted), timeout_ms: 10_000 });
  expect(result.text).toBe('thank you');
  const [broken, arrived] = answers;
  expect(arrived).toMatchObject({ id: 'question', result: { action: 'accept', content: { name: 'Ada' } } });
  expect(arrived).toEqual(broken);
});
