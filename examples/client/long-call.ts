import { TaskClient } from 'meanwhile/client';

const client = new TaskClient({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] });
try {
  const stream = client.callToolStream('simulate-research-query', { topic: 'otters' });
  for await (const message of stream) {
    switch (message.type) {
      case 'taskCreated':
        console.log('the server keeps it as a task');
        break;
      case 'taskStatus':
        console.log(message.task.status, message.task.statusMessage ?? '');
        break;
      case 'result':
        console.log(message.result.content[0]?.text);
        break;
    }
  }
  const { success } = await stream;
  console.log(success ? 'done' : 'the tool reported an error');
} finally {
  await client.disconnect();
}
