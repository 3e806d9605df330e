import { spawnSync } from 'node:child_process';
import { copyFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { logged, startProgram } from '../../support/program.ts';
import { v1Stdio } from '../../support/servers.ts';

/** Runs a command in a namespace of its own, with a disk of 4 MB at $DISK. */
const ON_A_SMALL_DISK = ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=4m none "$DISK" && exec "$@"', 'sh'];

const canMount = spawnSync('unshare', [...ON_A_SMALL_DISK, 'true'], {
  env: { ...process.env, DISK: tmpdir() },
});

test.skipIf(canMount.status !== 0)(
  'P-3: records that do not fit on a full disk are kept and written later',
  async () => {
    const disk = await temporaryFolder();
    const config = await configFile({ one: v1Stdio() }, { store: join(disk, 'store.db') });
    const program = await startProgram(['serve', '--config', config, '--log-level', 'info'], {
      env: { DISK: disk },
      through: ['unshare', ...ON_A_SMALL_DISK],
    });
    const url = String((await logged(program, 'listening')).data?.['url']);
    // The disk as the program sees it.
    const inside = `/proc/${program.child.pid}/root${disk}`;
    const hub = await hubOverHttp(url);
    const promised = taskIdOf(
      await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 }),
    );
    await writeFile(join(inside, 'filler'), Buffer.alloc(8 * 2 ** 20)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOSPC') throw error;
    });
    const notify = await hub.call('execute_tool', { server: 'one', tool: 'notify', args: { count: 3 } });
    expect(notify.text).toBe('sent 3');
    const refused = await hub.call('execute_tool', {
      server: 'one',
      tool: 'slow',
      args: { ms: 60_000, text: 'x'.repeat(100_000) },
      timeout_ms: 1,
    });
    expect(refused.code).toBe('TOOL_ERR_STORE');
    expect(refused.text).toContain('disk is full');
    expect(refused.text).not.toContain('limits.storeBytes');

    await rm(join(inside, 'filler'));
    const stored = async (table: string): Promise<number> => {
      // SQLite would follow the path to a file outside the namespace.
      const copy = join(await temporaryFolder(), 'copy.db');
      for (const end of ['', '-wal']) await copyFile(join(inside, `store.db${end}`), copy + end);
      const db = new Database(copy);
      try {
        return db.prepare(`SELECT id FROM ${table} WHERE data LIKE '%notification%' OR data LIKE '%slow%'`).all()
          .length;
      } finally {
        db.close();
      }
    };
    await expect.poll(() => stored('events'), { timeout: 10_000 }).toBeGreaterThanOrEqual(3);
    await expect.poll(() => stored('tasks'), { timeout: 10_000 }).toBe(2);
    expect((await hub.call('get_task', { task_id: promised })).isError).toBe(false);
  },
);
