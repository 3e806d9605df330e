/** A server with twenty tools that tells when these change. Sends its address to its parent. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { respond, type Message } from './echo.ts';

const TOOLS = 20;
const CAPABILITIES = { tools: { listChanged: true } };

/** As large as those of real servers are in the middle: some 700 characters. */
const TOOL = {
  title: 'Search the issues of a repository',
  description:
    'Searches the issues of a repository by text, state, labels and author, newest first. Returns at most `limit` of them ' +
    'with number, title, state and labels; use get_issue for the text of one.',
  inputSchema: {
    type: 'object',
    properties: {
      owner: { type: 'string', description: 'Who the repository belongs to' },
      query: { type: 'string', description: 'Words to look for' },
      state: { type: 'string', enum: ['open', 'closed', 'all'], default: 'open' },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    },
    required: ['owner', 'query'],
  },
  annotations: { readOnlyHint: true, openWorldHint: true },
};

const tools = Array.from({ length: TOOLS }, (_each, index) => ({ name: `search_issues_${index}`, ...TOOL }));

function answer(message: Message): string {
  const { result, ...rest } = JSON.parse(respond(message, false)) as { result?: Record<string, unknown> };
  if (result === undefined) return JSON.stringify(rest);
  const { capabilities, tools: listed } = result;
  return JSON.stringify({
    ...rest,
    result: {
      ...result,
      ...(capabilities !== undefined && { capabilities: CAPABILITIES }),
      ...(listed !== undefined && { tools }),
    },
  });
}

const server = createServer((req, res) => {
  let text = '';
  req.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  req.on('end', () => {
    const message = req.method === 'POST' ? (JSON.parse(text) as Message) : undefined;
    if (message?.id === undefined) {
      res.writeHead(message === undefined ? 405 : 202).end();
      return;
    }
    res.setHeader('content-type', 'application/json');
    if (message.method === 'initialize') res.setHeader('mcp-session-id', 'bench');
    res.end(answer(message));
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
