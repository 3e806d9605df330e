/** Tools that run as tasks for clients that can take one. */
import { setTimeout as delay } from 'node:timers/promises';
import { elicit, Fault, field, INTERNAL_ERROR } from './call.ts';
import { BOOLEAN, NUMBER, STRING, text, tool, type Tool } from './tool.ts';

export const TASK_TOOLS: readonly Tool[] = [
  tool({
    name: 'greet',
    description: 'Greets at once, never as a task',
    input: { name: STRING },
    run: async ({ name }) => text(`Hello, ${String(name)}!`),
  }),
  tool({
    name: 'slow_compute',
    description: 'Ends after some seconds',
    task: 'optional',
    input: { seconds: NUMBER, label: STRING },
    run: async ({ seconds, label }, { signal }) => {
      await delay(Number(seconds) * 1000, undefined, { signal });
      return text(`${String(label)}: computed for ${String(seconds)} s`);
    },
  }),
  tool({
    name: 'failing_job',
    description: 'Ends with a tool error, and only as a task',
    task: 'required',
    run: async (_args, { signal }) => {
      await delay(500, undefined, { signal });
      return { ...text('The job failed'), isError: true };
    },
  }),
  tool({
    name: 'protocol_error_job',
    description: 'Ends with a protocol error',
    task: 'optional',
    run: async () => {
      throw new Fault(INTERNAL_ERROR, 'The job broke');
    },
  }),
  tool({
    name: 'confirm_delete',
    description: 'Asks before it deletes',
    task: 'optional',
    input: { filename: STRING },
    run: async ({ filename }, call) => {
      const { confirm } = await call.ask({ confirm: elicit(`Delete ${String(filename)}?`, { confirm: BOOLEAN }) });
      return text(`Deleted ${String(filename)}: ${field(confirm, 'confirm')}`);
    },
  }),
  tool({
    name: 'multi_input',
    description: 'Asks two things at once',
    task: 'optional',
    run: async (_args, call) => {
      const { name, confirm } = await call.ask({
        name: elicit('What is the name?', { name: STRING }),
        confirm: elicit('Really?', { confirm: BOOLEAN }),
      });
      return text(`${field(name, 'name')}: ${field(confirm, 'confirm')}`);
    },
  }),
  tool({
    name: 'test_tool_with_task',
    description: 'Asks for a name, and greets it in a task',
    task: 'required',
    prepare: async (call) => {
      const { user_name } = await call.ask({ user_name: elicit('What is your name?', { name: STRING }) });
      return { name: field(user_name, 'name') };
    },
    run: async ({ name }, { signal }) => {
      await delay(1000, undefined, { signal });
      return text(`Hello, ${String(name)}!`);
    },
  }),
];
