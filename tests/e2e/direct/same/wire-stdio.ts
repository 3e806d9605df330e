import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Json } from '../../../servers/rich/wire.ts';
import type { Place, Said, Wire } from './wire-client.ts';

type StdioPlace = Exclude<Place, { url: string }>;

interface Ends {
  input: Readable;
  output: Writable;
  /** The other side has ended. */
  ended: Promise<unknown>;
}

export function stdioWire(place: StdioPlace, hear: (said: Said) => void): Wire {
  const { input, output, ended } = 'socket' in place ? endsOf(place.socket) : startProgram(place);
  const waiting = new Map<unknown, { resolve: (answer: Json) => void; reject: (error: Error) => void }>();
  createInterface({ input }).on('line', (line) => {
    const message = JSON.parse(line) as Json;
    if ('method' in message) hear({ scope: 'only', message });
    else waiting.get(message['id'])?.resolve(message);
  });
  void ended.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the other side has ended'));
  });

  const send = (message: Json): void => void output.write(`${JSON.stringify(message)}\n`);

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
      output.end();
      await ended;
    },
  };
}

function startProgram({ command, args, env }: Extract<StdioPlace, { command: string }>): Ends {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  return { input: child.stdout, output: child.stdin, ended: once(child, 'close') };
}

function endsOf(socket: Socket): Ends {
  return { input: socket, output: socket, ended: once(socket, 'end') };
}
