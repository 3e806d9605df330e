import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Json } from '../../../servers/rich/wire.ts';
import type { Place, Said, Wire } from './wire-client.ts';

type Program = Extract<Place, { command: string }>;

export function stdioWire({ command, args, env }: Program, hear: (said: Said) => void): Wire {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'close');
  const waiting = new Map<unknown, { resolve: (answer: Json) => void; reject: (error: Error) => void }>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Json;
    if ('method' in message) hear({ scope: 'only', message });
    else waiting.get(message['id'])?.resolve(message);
  });
  child.once('close', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the program ended with ${code}`));
  });

  const send = (message: Json): void => void child.stdin.write(`${JSON.stringify(message)}\n`);

  return {
    request: (message) =>
      new Promise((resolve, reject) => {
        waiting.set(message['id'], { resolve, reject });
        send(message);
      }),
    notify: async (message) => send(message),
    listen: async (message) => {
      send(message);
      const params = { requestId: message['id'] };
      return { end: async () => send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }) };
    },
    stand: async () => {},
    close: async () => {
      waiting.clear();
      child.stdin.end();
      await exited;
    },
  };
}
