import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as z from 'zod';
import { text, tool, type V1Tool } from './tool.ts';

const CHUNK = 64 * 1024;

export const processTools: readonly V1Tool[] = [
  tool(
    {
      name: 'stderr',
      description: 'Writes that many bytes to stderr; hangs when nobody reads them',
      input: z.object({ bytes: z.number().int().min(0) }),
    },
    async (args) => {
      for (let left = args.bytes; left > 0; left -= CHUNK) {
        const chunk = Buffer.alloc(Math.min(left, CHUNK), 'e');
        await new Promise<void>((resolve, reject) => {
          process.stderr.write(chunk, (error) => (error ? reject(error) : resolve()));
        });
      }
      return text(`wrote ${args.bytes}`);
    },
  ),
  tool(
    {
      name: 'crash',
      description: 'Ends the server without an answer',
      input: z.object({}),
      annotations: { destructiveHint: true },
    },
    (_args, { crash }) => {
      crash();
      return text('survived');
    },
  ),
  tool(
    { name: 'env', description: 'An environment variable of the server', input: z.object({ name: z.string() }) },
    (args) => text(process.env[args.name] ?? '(unset)'),
  ),
  tool({ name: 'pid', description: 'The process id of the server', input: z.object({}) }, () =>
    text(String(process.pid)),
  ),
  tool(
    { name: 'grandchild', description: 'Starts a child that outlives the server', input: z.object({}) },
    async () => {
      const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
      await once(child, 'spawn');
      child.unref();
      return text(String(child.pid));
    },
  ),
];
