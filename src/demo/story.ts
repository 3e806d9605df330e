import type { HubClient, HubReply } from './hub-client.ts';
import type { Stage } from './stage.ts';

const TEXT = 'Clients give up on slow tools. A gateway can keep the call going as a task, and keep its result.';
const CANNED_SUMMARY = 'Slow calls become tasks, so nobody has to wait.';

/** Calls the gateway and the demo server and shows their real replies. */
export async function tellStory(hub: HubClient, stage: Stage, program: string): Promise<void> {
  const call = async (tool: string, args: Record<string, unknown>): Promise<HubReply> => {
    stage.sent(tool, args);
    return hub.call(tool, args);
  };
  const finish = async (reply: HubReply): Promise<void> => {
    const result = await call('get_task_result', { task_id: taskId(reply) });
    stage.received(result.text);
  };

  stage.say('A client that can only call tools talks to the gateway. Behind the gateway is one server, demo.');

  stage.heading('1. What is there?');
  const { tools = [] } = await call('list_tools', { server: 'demo' });
  stage.received(tools.map(({ name, description }) => `${name}: ${description}`).join('\n'));

  stage.heading('2. A call that takes longer than the client wants to wait becomes a task');
  const report = await call('execute_tool', {
    server: 'demo',
    tool: 'slow_report',
    args: { topic: 'lemonade', seconds: 4 },
    timeout_ms: 1000,
  });
  stage.received(report.text);
  const looked = await call('await_activity', { timeout_ms: 1000 });
  stage.received(stateOf(looked));
  if (working(looked).length > 0) {
    const { task } = await call('get_task', { task_id: taskId(report) });
    stage.received(`${task?.status}: ${task?.status_message ?? 'no progress yet'}`);
    stage.say('  The client is free meanwhile. When it has nothing else to do, it waits for the next thing to happen.');
    const happened = await call('await_activity', { timeout_ms: 30_000 });
    stage.received(stateOf(happened));
  }
  await finish(report);

  stage.heading('3. A question of the server reaches the client at once, though the client cannot be asked');
  const booking = await call('execute_tool', {
    server: 'demo',
    tool: 'book_table',
    args: { restaurant: "Luigi's", people: 2, time: 'tonight 19:30' },
  });
  stage.received(booking.text);
  const [question] = booking.pending_client_action?.elicitations ?? [];
  if (question === undefined) throw new Error('book_table did not ask for a confirmation');
  const fields = Object.keys(question.requestedSchema.properties).join(', ');
  stage.received(`pending_client_action: "${question.message}" (a form: ${fields})`);
  const confirm = await stage.confirm(question.message);
  await call('respond_to_elicitation', {
    request_id: question.requestId,
    action: 'accept',
    content: { confirm, note: 'by the window' },
  });
  await finish(booking);

  stage.heading('4. A server without a model asks for one, and the model behind the client answers');
  const summary = await call('execute_tool', { server: 'demo', tool: 'summarize', args: { text: TEXT } });
  stage.received(summary.text);
  const [sampling] = summary.pending_client_action?.sampling_requests ?? [];
  if (sampling === undefined) throw new Error('summarize did not ask for a model');
  const prompt = sampling.params.messages[0]?.content.text ?? '';
  stage.received(`pending_client_action: a model, please: "${prompt.replaceAll(/\s+/g, ' ')}"`);
  stage.say('  There is no model here: the demo plays it, with a sentence it knows by heart.');
  await call('respond_to_sampling', {
    request_id: sampling.requestId,
    content: CANNED_SUMMARY,
    model: 'the-demo-itself',
  });
  await finish(summary);

  stage.heading('That was it. To give it to your own client, put this into its .mcp.json:');
  stage.say(mcpJson(program));
  stage.say('For your own servers, move them from .mcp.json to a file of the same form and add "--config", "<file>".');
}

function mcpJson(program: string): string {
  return JSON.stringify({ mcpServers: { meanwhile: { command: 'node', args: [program, 'stdio'] } } }, null, 2);
}

function taskId({ proxy_task }: HubReply): string {
  if (proxy_task === undefined) throw new Error('the call ended before it became a task');
  return proxy_task.task_id;
}

/** What ended the wait, and which tools still run. */
function stateOf(reply: HubReply): string {
  const why = (reply.triggers ?? []).map(({ type, eventType }) => eventType ?? type).join(', ');
  return `woken by: ${why}; still at work: ${working(reply).join(', ') || 'nothing'}`;
}

function working({ pending_server = [] }: HubReply): string[] {
  return pending_server.flatMap(({ working_tasks }) => working_tasks).map(({ toolName }) => toolName);
}
