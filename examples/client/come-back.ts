import { TaskClient } from 'meanwhile/client';

// PORT=3001 npx @modelcontextprotocol/server-everything streamableHttp
const url = process.argv[2] ?? 'http://127.0.0.1:3001/mcp';

const first = new TaskClient({ url });
let taskId = '';
for await (const message of first.callToolStream('simulate-research-query', { topic: 'otters' })) {
  if (message.type !== 'taskCreated') continue;
  taskId = message.task.taskId;
  break;
}
const sessionId = first.sessionId;
await first.disconnect({ keepSession: true });
console.log('left; the task goes on');

// Later, perhaps in another process that was told the two ids.
const second = new TaskClient({ url }, { sessionId });
try {
  const { status, statusMessage } = await second.getTask(taskId);
  console.log('back;', status, statusMessage ?? '');
  const { content } = await second.getTaskResult(taskId);
  console.log(content[0]?.text);
} finally {
  await second.disconnect();
}
