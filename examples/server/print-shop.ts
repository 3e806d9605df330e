import { setTimeout as sleep } from 'node:timers/promises';
import { createTaskController, createTaskServer, type Task } from 'meanwhile/server';

const tasks = await createTaskController({ store: 'print-shop.db' });

// The tool only begins the work.
const server = createTaskServer({
  name: 'print-shop',
  version: '1.0.0',
  tasks,
  tools: {
    print: {
      description: 'Prints a poster. The printer asks whether in colour.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      run: async (args) => ({ task: await tasks.create({ tool: 'print', args }) }),
    },
  },
});

// Another part of the program does it: what is begun from now on, and what an earlier run of the program left.
async function print({ id, args }: Task): Promise<void> {
  try {
    tasks.report(id, 'the printer warms up');
    const answer = await tasks.ask(id, {
      kind: 'elicitation',
      key: 'colour',
      params: {
        message: 'In colour?',
        requestedSchema: { type: 'object', properties: { colour: { type: 'boolean' } }, required: ['colour'] },
      },
    });
    const { colour = false } = (answer.content ?? {}) as { colour?: boolean };
    await sleep(1000);
    const text = `A poster that says "${String(args.text)}", ${colour ? 'in colour' : 'in black'}.`;
    await tasks.complete(id, { content: [{ type: 'text', text }] });
  } catch (error) {
    await tasks.fail(id, { code: -32000, message: String(error) });
  }
}

const begun = new Set<string>();
function look(task: Task): void {
  if ((task.status !== 'working' && task.status !== 'input_required') || begun.has(task.id)) return;
  begun.add(task.id);
  void print(task);
}
tasks.watch(look);
tasks.list().forEach(look);

process.once('SIGTERM', () => void server.close().then(() => tasks.close()));
console.log(await server.listen({ port: Number(process.env.PORT ?? 3000) }));
