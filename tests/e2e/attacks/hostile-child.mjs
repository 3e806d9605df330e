/** A hostile server as a program. Its tools are attacks; the arguments say how large and how often. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const MODE = process.env.HOSTILE_MODE ?? '';
const answers = new Map();
let lastId = 0;

/** Waits for the reader, so that this process is not the one that runs out of memory. */
async function sendText(text) {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

const send = (message) => sendText(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function ask(method, params) {
  lastId += 1;
  const id = `q${lastId}`;
  const answered = new Promise((resolve) => {
    answers.set(id, resolve);
  });
  await send({ id, method, params });
  return answered;
}

async function repeat(count, message) {
  const line = `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
  for (let i = 0; i < count; i += 1) await sendText(line);
  return `sent ${count}`;
}

const text = (bytes) => 'x'.repeat(bytes);
const FORM = { type: 'object', properties: { name: { type: 'string' } } };

const TOOLS = {
  echo: ({ text: given }) => given,
  result: async ({ bytes, announced }, progressToken) => {
    if (announced) await send({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    return text(bytes);
  },
  error: ({ bytes }) => {
    throw new Error(text(bytes));
  },
  never: () => new Promise(() => {}),
  notify: ({ bytes, count }) =>
    repeat(count, { method: 'notifications/resources/updated', params: { uri: `x:${text(bytes)}` } }),
  log: ({ bytes, count }) =>
    repeat(count, { method: 'notifications/message', params: { level: 'info', data: text(bytes) } }),
  progress: ({ bytes, count }, token) =>
    repeat(count, {
      method: 'notifications/progress',
      params: { progressToken: token, progress: 1, message: text(bytes) },
    }),
  /** Tells how the question was answered. */
  ask: async ({ bytes }) => {
    const params = { message: text(bytes), requestedSchema: FORM };
    return JSON.stringify(await ask('elicitation/create', params));
  },
  /** Asks for many choices. */
  choose: async ({ choices }) => {
    const items = { type: 'string', enum: Array.from({ length: choices }, (_, i) => `choice number ${i}`) };
    const requestedSchema = { type: 'object', properties: { picked: { type: 'array', items } } };
    return JSON.stringify(await ask('elicitation/create', { message: 'Which?', requestedSchema }));
  },
  /** Asks with a task, and then for its result again and again; tells how many requests were refused. */
  results: async ({ count }) => {
    const { result } = await ask('elicitation/create', { message: 'Well?', requestedSchema: FORM, task: {} });
    const { taskId } = result.task;
    let refused = 0;
    const count1 = (message) => {
      if (message.error !== undefined) refused += 1;
    };
    for (let i = 0; i < count; i += 1) void ask('tasks/result', { taskId }).then(count1);
    await ask('ping', {});
    return `refused ${refused}`;
  },
  /** Stops reading for good. */
  deaf: () => {
    setImmediate(() => input.pause());
    setInterval(() => {}, 60_000);
    return 'what?';
  },
};

const schema = { type: 'object' };
const lists = {
  '': () => ({ tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: schema })) }),
  /** Pages without end, each with a new cursor. */
  pages: () => {
    lastId += 1;
    return {
      tools: [{ name: `t${lastId}`, description: text(4_000_000), inputSchema: schema }],
      nextCursor: `${lastId}`,
    };
  },
  'long-name': () => ({
    tools: [
      { name: text(12_000_000), inputSchema: schema },
      { name: 'echo', inputSchema: schema },
    ],
  }),
  'many-names': () => ({
    tools: Array.from({ length: 300_000 }, (_, i) => ({ name: `t${i}` })),
  }),
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion > '2025-11-25' ? '2025-11-25' : protocolVersion,
    capabilities: { tools: {}, logging: {}, resources: {} },
    serverInfo: { name: 'hostile', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => lists[MODE](),
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'tools/call': async ({ name, arguments: args = {}, _meta = {} }) => ({
    content: [{ type: 'text', text: await TOOLS[name](args, _meta.progressToken) }],
  }),
};

async function handle(message) {
  const { id, method, params = {} } = message;
  if (method === undefined) {
    answers.get(id)?.(message);
    answers.delete(id);
    return;
  }
  if (id === undefined) return;
  const run = METHODS[method];
  try {
    if (run === undefined) throw new Error(`Method not found: ${method}`);
    await send({ id, result: await run(params) });
  } catch (error) {
    await send({ id, error: { code: -32603, message: error.message } });
  }
}

const input = createInterface({ input: process.stdin });
input.on('line', (line) => void handle(JSON.parse(line))).once('close', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
