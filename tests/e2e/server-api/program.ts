/**
 * An application as a program of its own: `program.ts <port | stdio> <store> <folder>`. In the folder it notes what it does,
 * and finds the file that lets the work end.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createTaskController,
  createTaskServer,
  type ElicitResult,
  type RunningTask,
  type Task,
} from '../../../src/server/index.ts';
import { handlers, newRecord } from './app.ts';

const [, , door = '', store = '', folder = ''] = process.argv;

const note = (line: string): void => appendFileSync(join(folder, 'journal'), `${line}\n`);

async function gate(): Promise<void> {
  while (!existsSync(join(folder, 'open'))) await delay(20);
}

const QUESTION = {
  message: 'Which size?',
  requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
};

async function order(_args: unknown, task: RunningTask): Promise<string> {
  note('begun');
  const { content } = await task.elicit(QUESTION);
  note(`answered ${String(content?.['size'])}`);
  await gate();
  return `a shirt in ${String(content?.['size'])}`;
}

async function main(): Promise<void> {
  const tasks = await createTaskController({ store });

  async function work({ id }: Task): Promise<void> {
    note('begun');
    const answer = await tasks.ask(id, { kind: 'elicitation', params: QUESTION, key: 'size' });
    const { content } = answer as ElicitResult;
    note(`answered ${String(content?.['size'])}`);
    await gate();
    await tasks.complete(id, { content: [{ type: 'text', text: `a shirt in ${String(content?.['size'])}` }] });
  }

  // Whatever an earlier run of the program left, and whatever is begun from now on.
  const begun = new Set<string>();
  const look = (task: Task): void => {
    if (task.status !== 'working' && task.status !== 'input_required') return;
    if (begun.has(task.id)) return;
    begun.add(task.id);
    void work(task);
  };
  tasks.watch(look);
  for (const task of tasks.list()) look(task);

  const server = createTaskServer({
    name: 'shop',
    version: '1.0.0',
    tasks,
    settings: { direct: { taskAfterMs: 100 } },
    tools: {
      ...handlers(newRecord()),
      once: { run: order },
      repeatable: { repeatable: true, run: order },
      elsewhere: { run: async (args) => ({ task: await tasks.create({ tool: 'elsewhere', args }) }) },
    },
  });

  process.once('SIGTERM', () => void server.close());
  if (door === 'stdio') await server.stdio();
  else {
    await server.listen({ port: Number(door) });
    note('listening');
    await new Promise((resolve) => {
      process.once('SIGTERM', resolve);
    });
    await server.close();
  }
  await tasks.close();
  // Whoever still waits for the gate does so in vain.
  process.exit(0);
}

void main();
