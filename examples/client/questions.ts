import { createInterface } from 'node:readline/promises';
import { TaskClient, type PendingElicitation } from 'meanwhile/client';

const client = new TaskClient(
  { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] },
  { elicitation: true },
);
const terminal = createInterface({ input: process.stdin, output: process.stdout });

async function ask(question: PendingElicitation): Promise<void> {
  const task = client.getClientTasks().find(({ taskId }) => taskId === question.taskId);
  console.log(`${question.message} (task: ${task?.status})`);
  while (!question.over.aborted) {
    const interpretation = await terminal.question('technical, historical, current, or nothing to decline: ');
    try {
      question.respond(interpretation ? { action: 'accept', content: { interpretation } } : { action: 'decline' });
    } catch (mistake) {
      console.log(String(mistake));
    }
  }
}

client.addEventListener('newPendingElicitation', ({ detail }) => void ask(detail));
try {
  const { result } = await client.callToolStream('simulate-research-query', { topic: 'otters', ambiguous: true });
  console.log(result?.content[0]?.text);
} finally {
  terminal.close();
  await client.disconnect();
}
