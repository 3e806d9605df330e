/** A server as a program that does what no SDK server would do. */
import { createInterface } from 'node:readline';

const asked = new Map();

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function ask(method, params) {
  const id = `question-${asked.size + 1}`;
  return new Promise((resolve) => {
    asked.set(id, resolve);
    say({ id, method, params });
  });
}

const TOOLS = {
  echo: ({ text }) => text,
  /** Keeps the only thread busy: nothing gets an answer meanwhile, a ping neither. */
  block: ({ ms }) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    return `blocked for ${ms}`;
  },
  /** A level that is none of the protocol's. */
  warn: ({ text }) => {
    say({ method: 'notifications/message', params: { level: 'warn', data: text } });
    return 'warned';
  },
  ask: async ({ schema }) => {
    const answer = await ask('elicitation/create', { message: 'Well?', requestedSchema: schema });
    return JSON.stringify(answer);
  },
};

const METHODS = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: 'odd', version: '1.0.0' },
  }),
  ping: () => ({}),
  // Each item claims to be another server's.
  'tools/list': () => ({
    tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: 'object' }, server: 'somebody-else' })),
  }),
  'tools/call': async ({ name, arguments: args = {} }) => ({
    content: [{ type: 'text', text: await TOOLS[name](args) }],
  }),
};

async function handle({ id, method, params, result }) {
  if (method === undefined) {
    asked.get(id)?.(result);
    return;
  }
  if (id === undefined) return;
  const run = METHODS[method];
  if (run === undefined) say({ id, error: { code: -32601, message: `Method not found: ${method}` } });
  else say({ id, result: await run(params) });
}

createInterface({ input: process.stdin })
  .on('line', (line) => void handle(JSON.parse(line)))
  .once('close', () => process.exit(0));
