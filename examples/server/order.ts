import { setTimeout as sleep } from 'node:timers/promises';
import { createTaskServer } from 'meanwhile/server';

const form = { type: 'object', properties: { size: { type: 'string', enum: ['S', 'M', 'L'] } }, required: ['size'] };

const server = createTaskServer({
  name: 'shop',
  version: '1.0.0',
  store: 'shop.db',
  tools: {
    order: {
      description: 'Orders shirts. Asks for their size.',
      inputSchema: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
      repeatable: true,
      async run({ count }: { count: number }, task) {
        const answer = await task.elicit<{ size: string }>({ message: 'Which size?', requestedSchema: form });
        if (answer.action !== 'accept') return 'Nothing was ordered.';
        for (let packed = 1; packed <= count; packed += 1) {
          await sleep(1000, undefined, { signal: task.signal });
          task.progress(packed, count, `${packed} of ${count} packed`);
        }
        return `${count} shirts in ${answer.content.size} are on their way.`;
      },
    },
  },
});

process.once('SIGTERM', () => void server.close());
if (process.argv.includes('--stdio')) await server.stdio();
else console.log(await server.listen({ port: Number(process.env.PORT ?? 3000) }));
