import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { owned } from '../../../support/owned.ts';
import { killable, stored } from '../../restart/killable.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { ModernWire } from '../modern-wire.ts';

const SERVERS = { plain: startV1Http, core: startTasksV1Http, ext: startTasksV2Http };

test.each(Object.entries(SERVERS))(
  'D-3, D-4, P-3: a task is stored before its client gets the task id: %s',
  async (_kind, start) => {
    const server = owned(await start());
    const gateway = await killable({ one: { url: server.url } }, { direct: { taskAfterMs: 50 } });
    const direct = `${gateway.url}/one`;
    const wire = await LegacyWire.open(direct);
    const slow = { ms: 600_000 };
    for (let count = 0; count < 5; count += 1) {
      const { taskId } = await wire.begin('slow', slow);
      expect(stored(gateway, 'tasks', taskId)).toMatchObject({ status: 'working', exposed: true });
    }
    const modern = new ModernWire(direct);
    for (let count = 0; count < 5; count += 1) {
      const { taskId } = await modern.call('slow', slow);
      expect(stored(gateway, 'tasks', String(taskId))).toMatchObject({ status: 'working', exposed: true });
    }
  },
);
