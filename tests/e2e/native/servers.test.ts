import { expect, test } from 'vitest';
import { behind, WAYS, type How } from './ways.ts';

const TOLD: Record<How, { era: string; protocolVersion: string; tasks: object | string; generation: string }> = {
  push: { era: 'legacy', protocolVersion: '2025-11-25', tasks: 'none', generation: 'none' },
  'core task': {
    era: 'legacy',
    protocolVersion: '2025-11-25',
    tasks: { generation: '2025-11-25', list: true, cancel: true },
    generation: '2025-11-25',
  },
  rounds: { era: 'modern', protocolVersion: '2026-07-28', tasks: 'none', generation: 'none' },
  'extension task': {
    era: 'modern',
    protocolVersion: '2026-07-28',
    tasks: { generation: '2026-07-28', list: false, cancel: true },
    generation: '2026-07-28',
  },
};

test.each(WAYS)(
  'B-6, S-3: get_server_status shows era, protocol version and tasks of a server ($how, $door)',
  async (way) => {
    const { hub } = await behind(way);
    const { generation, ...told } = TOLD[way.how];
    const { body } = await hub.call('get_server_status', { server: 'one' });
    expect(body).toMatchObject({ name: 'one', connected: true, ...told, capabilities: { tools: {} } });
    const { servers } = (await hub.call('list_servers')).body as { servers: object[] };
    const capabilities: unknown = expect.arrayContaining(['tools']);
    expect(servers).toMatchObject([{ name: 'one', era: told.era, tasks: generation, capabilities }]);
  },
);
