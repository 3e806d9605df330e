import { TaskClient } from 'meanwhile/client';

const client = new TaskClient({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] });
try {
  const { result } = await client.callTool('echo', { message: 'hello' });
  console.log(result?.content);
} finally {
  await client.disconnect();
}
