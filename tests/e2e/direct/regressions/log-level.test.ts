import { expect, test } from 'vitest';
import { httpGateway } from '../../../support/gateway.ts';
import { v1Stdio } from '../../../support/servers.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

const FAST = { servers: { reconnect: { firstMs: 20, maxMs: 100 } } };
const LEVEL = 'io.modelcontextprotocol/logLevel';

test.each(['legacy', 'modern'] as const)(
  'B-3, D-5: a restarted server keeps the log level that its client set (%s)',
  async (era) => {
    const { url } = await httpGateway({ one: v1Stdio() }, FAST);
    const direct = `${url}/one`;
    const wire = era === 'legacy' ? await LegacyWire.open(direct) : new ModernWire(direct);
    const log = async (): Promise<unknown> => textOf(await wire.call('log', { count: 1, level: 'info' }));
    expect(await log()).toBe('logged 1');
    if (era === 'legacy') await wire.request('logging/setLevel', { level: 'error' });
    else await wire.call('echo', { text: 'x' }, { _meta: { [LEVEL]: 'error' } });
    expect(await log()).toBe('filtered');

    const pid = textOf(await wire.call('pid'));
    process.kill(Number(pid), 'SIGKILL');
    const pidNow = async (): Promise<unknown> => {
      const { result } = await wire.send('tools/call', { name: 'pid', arguments: {} });
      return (result && textOf(result)) ?? pid;
    };
    await soon(pidNow).not.toBe(pid);
    expect(await log()).toBe('filtered');
  },
);
