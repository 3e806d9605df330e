import type { TaskClient } from '../client/task-client.ts';
import type { PendingElicitation, ToolCallInvocation } from '../client/types.ts';
import type { HubClient, HubReply } from './hub-client.ts';
import type { Stage } from './stage.ts';

/** Of the gateway of the demo. */
export const DEMO_RULE = { annotations: { destructiveHint: true }, then: 'ask' };

const TEXT = 'Clients give up on slow tools. A gateway can keep the call going as a task, and keep its result.';
const CANNED_SUMMARY = 'Slow calls become tasks, so clients do not have to wait.';

/** A client with tasks and forms sees all servers as one. */
export async function tellNative(client: TaskClient, stage: Stage): Promise<void> {
  const text = ({ result }: ToolCallInvocation): string => result?.content[0]?.text ?? 'no result';

  stage.say('Behind the gateway is one server, demo. Two kinds of clients use it.');

  stage.heading('1. A client with tasks and forms, such as Claude Code, at /mcp/all: each server has its own tools');
  const tools = await client.listTools();
  stage.received(tools.map(({ name, description }) => `${name}: ${description}`).join('\n'));

  stage.heading('2. A slow tool runs as a task, even if its server does not support tasks');
  const report = { topic: 'lemonade', seconds: 3 };
  stage.sent('demo__slow_report', report);
  const call = client.callToolStream('demo__slow_report', report);
  for await (const message of call) {
    if (message.type === 'taskCreated') stage.received(`task ${message.task.taskId}: the client can do other work`);
  }
  stage.received(text(await call));

  stage.heading('3. A question from the server opens as a form');
  const answer = async ({ detail: question }: { detail: PendingElicitation }): Promise<void> => {
    const { properties = {} } = (question.requestedSchema ?? {}) as { properties?: object };
    stage.received(`elicitation/create: "${question.message}" (a form: ${Object.keys(properties).join(', ')})`);
    const confirm = await stage.confirm(question.message);
    question.respond({ action: 'accept', content: { confirm, note: 'by the window' } });
  };
  const answered = new Promise<void>((resolve, reject) => {
    client.addEventListener('newPendingElicitation', (event) => void answer(event).then(resolve, reject), {
      once: true,
    });
  });
  const table = { restaurant: "Luigi's", people: 2, time: 'tonight 19:30' };
  stage.sent('demo__book_table', table);
  const [booking] = await Promise.all([client.callTool('demo__book_table', table), answered]);
  stage.received(text(booking));

  stage.heading('4. A call that cannot be undone waits for approval, because a rule of the gateway says so');
  stage.say(`  ${JSON.stringify(DEMO_RULE)}`);
  const decide = async ({ detail: question }: { detail: PendingElicitation }): Promise<void> => {
    stage.received(`elicitation/create: "${question.message.replaceAll(/\s+/g, ' ')}"`);
    const [asked = ''] = question.message.split('\n');
    const decision = (await stage.confirm(asked)) ? 'allow' : 'deny';
    question.respond({ action: 'accept', content: { decision } });
  };
  const decided = new Promise<void>((resolve, reject) => {
    client.addEventListener('newPendingElicitation', (event) => void decide(event).then(resolve, reject), {
      once: true,
    });
  });
  const cancelled = { reference: 'DEMO-2LUI' };
  stage.sent('demo__cancel_booking', cancelled);
  const [cancellation] = await Promise.all([client.callTool('demo__cancel_booking', cancelled), decided]);
  stage.received(text(cancellation));
}

/** A client that can only call tools uses those of the hub. */
export async function tellHub(hub: HubClient, stage: Stage, program: string): Promise<void> {
  const call = async (tool: string, args: Record<string, unknown>): Promise<HubReply> => {
    stage.sent(tool, args);
    return hub.call(tool, args);
  };
  const finish = async (reply: HubReply): Promise<void> => {
    const result = await call('get_task_result', { task_id: taskId(reply) });
    stage.received(result.text);
  };

  stage.heading('5. A client that can only call tools uses the hub: here, too, a slow call becomes a task');
  const report = await call('execute_tool', {
    server: 'demo',
    tool: 'slow_report',
    args: { topic: 'tea', seconds: 3 },
    timeout_ms: 1000,
  });
  stage.received(report.text);
  const looked = await call('await_activity', { timeout_ms: 1000 });
  stage.received(stateOf(looked));
  if (working(looked).length > 0) {
    const { task } = await call('get_task', { task_id: taskId(report) });
    stage.received(`${task?.status}: ${task?.status_message ?? 'no progress yet'}`);
    stage.say('  The client can do other work. When it has nothing else to do, it waits for the next event.');
    const happened = await call('await_activity', { timeout_ms: 30_000 });
    stage.received(stateOf(happened));
  }
  await finish(report);

  stage.heading(
    '6. A question from the server reaches this client in the reply, since it does not support elicitation',
  );
  const booking = await call('execute_tool', {
    server: 'demo',
    tool: 'book_table',
    args: { restaurant: "Luigi's", people: 4, time: 'tomorrow 20:00' },
  });
  stage.received(booking.text);
  const [question] = booking.pending_client_action?.elicitations ?? [];
  if (question === undefined) throw new Error('book_table did not ask for a confirmation');
  const fields = Object.keys(question.requestedSchema.properties).join(', ');
  stage.received(`pending_client_action: "${question.message}" (a form: ${fields})`);
  await call('respond_to_elicitation', {
    request_id: question.requestId,
    action: 'accept',
    content: { confirm: true, note: 'by the window' },
  });
  await finish(booking);

  stage.heading('7. A server without a model asks for one, and the model of the client answers');
  const summary = await call('execute_tool', { server: 'demo', tool: 'summarize', args: { text: TEXT } });
  stage.received(summary.text);
  const [sampling] = summary.pending_client_action?.sampling_requests ?? [];
  if (sampling === undefined) throw new Error('summarize did not ask for a model');
  const prompt = sampling.params.messages[0]?.content.text ?? '';
  stage.received(`pending_client_action: sampling request: "${prompt.replaceAll(/\s+/g, ' ')}"`);
  stage.say('  The demo has no model, so it answers with a prepared sentence.');
  await call('respond_to_sampling', {
    request_id: sampling.requestId,
    content: CANNED_SUMMARY,
    model: 'the-demo-itself',
  });
  await finish(summary);

  stage.heading('End of the demo. To connect your own client, put this into its .mcp.json:');
  stage.say(mcpJson(program));
  stage.say(
    'Without "--all", the client gets the hub: 24 tools for any number of servers. Use it for clients that load every tool they see.',
  );
  stage.say(
    'To use your own servers, move them from .mcp.json to a file in the same format and add "--config", "<file>".',
  );
}

function mcpJson(program: string): string {
  return JSON.stringify({ mcpServers: { meanwhile: { command: 'node', args: [program, 'stdio', '--all'] } } }, null, 2);
}

function taskId({ proxy_task }: HubReply): string {
  if (proxy_task === undefined) throw new Error('the call ended before it became a task');
  return proxy_task.task_id;
}

/** What ended the wait, and which tools still run. */
function stateOf(reply: HubReply): string {
  const why = (reply.triggers ?? []).map(({ type, eventType }) => eventType ?? type).join(', ');
  return `reason: ${why}; still running: ${working(reply).join(', ') || 'nothing'}`;
}

function working({ pending_server = [] }: HubReply): string[] {
  return pending_server.flatMap(({ working_tasks }) => working_tasks).map(({ toolName }) => toolName);
}
