/** The tools of the configured servers, as far as they can be read. */

import type { Tool } from '../../client/types.ts';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import { selection } from '../../lib/pattern.ts';
import { within } from '../../lib/timers.ts';
import type { ProgramConfig } from '../config.ts';
import type { Flags } from '../flags.ts';
import { configuredServer } from '../server/find-server.ts';
import { declineAll, isTool, newClient } from '../server/session.ts';
import { troubleWith } from '../server/trouble.ts';
import type { Limit } from '../server/examine.ts';

/** `problem`: why there are none. */
export type ReadTools = { tools: Tool[] } | { problem: string };

export async function readTools(
  name: string,
  config: ServerConfig,
  settings: ProgramConfig['settings'],
  flags: Flags,
  limit: Limit,
): Promise<ReadTools> {
  const client = newClient(configuredServer(name, config, settings), flags);
  declineAll(client);
  const read = async (): Promise<Tool[]> => {
    const { capabilities } = await client.connect();
    return capabilities['tools'] === undefined ? [] : (await client.listTools()).filter(isTool);
  };
  try {
    const tools = await within(limit.ms, read());
    if (tools === undefined) return { problem: `no list of tools within ${limit.text}` };
    // A hidden tool cannot be called.
    const { selects } = selection(config);
    return { tools: tools.filter((tool) => selects(tool.name)) };
  } catch (error) {
    const { reason, fix } = troubleWith(error, config);
    return { problem: fix === undefined ? reason : `${reason}; ${fix}` };
  } finally {
    await client.disconnect();
  }
}
