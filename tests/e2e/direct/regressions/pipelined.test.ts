import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire, ROUNDS } from '../modern-wire.ts';

const OPEN = {
  legacy: async (url: string) => LegacyWire.open(url),
  modern: async (url: string) => new ModernWire(url, { capabilities: ROUNDS }),
};

test.each(['legacy', 'modern'] as const)(
  'T-4: pipelined requests are abandoned together when their connection closes (%s)',
  async (era) => {
    const server = owned(await startV1Http());
    const { url, gateway } = await httpGateway({ one: { url: server.url } });
    const wire = await OPEN[era](`${url}/one`);
    const { host, hostname, port, pathname } = new URL(`${url}/one`);
    const call = (text: string): string => {
      const { message, headers } = wire.raw('tools/call', { name: 'slow', arguments: { ms: 600_000, text } });
      const body = JSON.stringify(message);
      const lines = Object.entries({ ...headers, host, 'content-length': `${body.length}` });
      return `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
    };
    const socket = connect(Number(port), hostname);
    socket.write(call('first') + call('second') + call('third'));
    await soon(() => server.state.calls.length).toBe(3);
    expect(gateway.sessions[0]?.tasks.list()).toEqual([]);
    socket.destroy();
    const abandoned = { status: 'working', abandoned: true };
    await soon(() => gateway.sessions[0]?.tasks.list()).toMatchObject([abandoned, abandoned, abandoned]);
  },
);
