import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { runProgram, serveProgram } from '../../support/program.ts';

interface Link {
  what: string;
  /** Makes the link; tells the paths of the one store that the first and the second gateway are given. */
  make: (folder: string) => Promise<[first: string, second: string]>;
}

const LINKS: Link[] = [
  {
    what: 'to the file',
    make: async (folder) => {
      const store = join(folder, 'store.db');
      await symlink(store, join(folder, 'link.db'));
      return [store, join(folder, 'link.db')];
    },
  },
  {
    what: 'through another link to a file that does not exist yet',
    make: async (folder) => {
      await symlink('later.db', join(folder, 'one.db'));
      await symlink('one.db', join(folder, 'two.db'));
      return [join(folder, 'two.db'), join(folder, 'later.db')];
    },
  },
  {
    what: 'to its folder',
    make: async (folder) => {
      await mkdir(join(folder, 'real'));
      await symlink(join(folder, 'real'), join(folder, 'linked'));
      return [join(folder, 'real', 'store.db'), join(folder, 'linked', 'store.db')];
    },
  },
];

test.each(LINKS)('P-1, P-2: a second gateway that opens the store by a link $what is refused', async ({ make }) => {
  const server = owned(await startV1Http());
  const config = await configFile({ one: { url: server.url } });
  const [store, link] = await make(await temporaryFolder());
  const first = await serveProgram(['--config', config, '--store', store]);
  const hub = await hubOverHttp(first.url);
  const slow = { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 };
  const id = taskIdOf(await hub.call('execute_tool', slow));

  // The port is taken too, so that it ends in any case.
  const { port } = new URL(first.url);
  const second = await runProgram(['serve', '--config', config, '--store', link, '--port', port]);
  expect(second.stderr).toContain(`another meanwhile (process ${first.child.pid}) is using this store`);
  expect(second.code).toBe(1);
  expect((await hub.call('get_task', { task_id: id })).body['task']).toMatchObject({ status: 'working' });
});

test.each(LINKS)('P-1: store prune by a link $what is refused while a gateway uses the store', async ({ make }) => {
  const [store, link] = await make(await temporaryFolder());
  const first = await serveProgram(['--port', '0', '--store', store]);
  const pruned = await runProgram(['store', 'prune', '--store', link]);
  expect(pruned.stderr).toContain(`the gateway with process id ${first.child.pid} is using this store`);
  expect(pruned.code).toBe(1);
  const shown = await runProgram(['store', '--store', link, '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({ usedBy: { pid: first.child.pid } });
});
