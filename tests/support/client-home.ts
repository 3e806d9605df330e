/** A home folder with the files of MCP clients, and commands that run in it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CLIENTS } from '../../src/cli/link/clients.ts';
import { thisMachine } from '../../src/cli/link/machine.ts';
import { ENTRY_NAME, type ClientName } from '../../src/cli/link/names.ts';
import { runCommand } from './command.ts';
import { temporaryFolder } from './gateway.ts';

export async function newHome() {
  const home = await temporaryFolder();
  const machine = { ...thisMachine(), home, env: {}, platform: 'linux' as const };
  const fileOf = (client: ClientName): string => CLIENTS[client].file(machine);
  const read = async (client: ClientName): Promise<string> => readFile(fileOf(client), 'utf8');
  return {
    home,
    fileOf,
    read,
    run: async (...args: string[]) => runCommand(args, { env: { HOME: home }, cwd: home }),
    write: async (client: ClientName, text: string): Promise<string> => {
      await mkdir(dirname(fileOf(client)), { recursive: true });
      await writeFile(fileOf(client), text);
      return fileOf(client);
    },
    entryOf: async (client: ClientName): Promise<unknown> =>
      CLIENTS[client].format.read(await read(client))[ENTRY_NAME],
  };
}
