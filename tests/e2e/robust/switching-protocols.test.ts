import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { oddServer } from './odd-server.ts';

const HEADERS = {
  'with upgrade headers': 'Connection: upgrade\r\nUpgrade: websocket\r\n',
  'without upgrade headers': '',
};

test.each(Object.entries(HEADERS))(
  'X-4: a call fails if the server answers with HTTP 101 %s',
  async (_how, headers) => {
    const server = await oddServer({
      'tools/call': ({ response }) => void response.socket?.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`),
    });
    const { url } = await httpGateway({ odd: { url: server.url } });
    const hub = await hubOverHttp(url);
    const reply = await hub.call('execute_tool', { server: 'odd', tool: 'work', timeout_ms: 10_000 });
    expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
    expect(reply.text).toContain('101');
  },
);
