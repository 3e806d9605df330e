import { TaskClient, TaskClientError } from 'meanwhile/client';

const client = new TaskClient({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] });
try {
  const options = { signal: AbortSignal.timeout(3000) };
  await client.callTool('trigger-long-running-operation', { duration: 60, steps: 6 }, {}, {}, options);
} catch (error) {
  if (!(error instanceof TaskClientError)) throw error;
  switch (error.kind) {
    case 'error':
      console.log('the server says:', error.message, error.code, error.data);
      break;
    case 'cancelled':
      console.log('cancelled, on the server too');
      break;
    case 'unreachable':
    case 'lost':
      console.log('no answer:', error.message);
      break;
    case 'refused':
      console.log('not sent:', error.message);
      break;
  }
} finally {
  await client.disconnect();
}
