/** A gateway that is killed and started again on the same store and port. The test owns it. */
import Database from 'libsql';
import { expect, vi } from 'vitest';
import { KillableGateway } from '../../crash/gateway.ts';
import { temporaryFolder, type SettingsInput } from '../../support/gateway.ts';
import { taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { defer } from '../../support/owned.ts';
import type { RawSession } from '../../support/raw-http.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';

export async function killable(
  servers: Record<string, { url: string }>,
  settings: SettingsInput = {},
): Promise<KillableGateway> {
  const folder = await temporaryFolder();
  const gateway = await KillableGateway.prepare({ program: QUICK_PROGRAM, folder, servers, settings });
  defer(() => gateway.stop());
  await gateway.start();
  return gateway;
}

/** As `kill -9` does: nothing is written, nobody is told. */
export async function kill(gateway: KillableGateway): Promise<void> {
  gateway.kill();
  await gateway.gone();
}

/** After `laterMs`, by the clock of the gateway. */
export async function restart(gateway: KillableGateway, laterMs = 0): Promise<void> {
  await kill(gateway);
  await gateway.start(laterMs);
}

/** Starts a call that becomes a task at once; tells the id of the task. */
export async function begin(
  session: Pick<RawSession, 'reply'>,
  server: string,
  tool: string,
  args: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): Promise<{ id: string; reply: Reply }> {
  const reply = await session.reply('execute_tool', { server, tool, args, timeout_ms: 300, ...more });
  return { id: taskIdOf(reply), reply };
}

/** The same with a tool that its server keeps as a task; resolves once it is on record where the call stands. */
export async function beginNative(
  gateway: KillableGateway,
  session: Pick<RawSession, 'reply'>,
  ...call: [server: string, tool: string, args?: Record<string, unknown>, more?: Record<string, unknown>]
): Promise<{ id: string; reply: Reply }> {
  const begun = await begin(session, ...call);
  await vi.waitFor(() => expect(stored(gateway, 'tasks', begun.id)).toHaveProperty('checkpoint'), { timeout: 10_000 });
  return begun;
}

/** Starts a call that asks: the question makes it a task, however long that takes. */
export async function beginAsking(
  ...[session, server, tool, args = {}, more = {}]: Parameters<typeof begin>
): Promise<{ id: string; reply: Reply }> {
  return begin(session, server, tool, args, { timeout_ms: 15_000, ...more });
}

/** A row as another process sees it. */
export function stored({ store }: KillableGateway, table: string, id: string): Json | undefined {
  return rows(store, table).find((row) => row['id'] === id);
}

export function rows(store: string, table: string): Json[] {
  const db = new Database(store, { readonly: true });
  try {
    const found = db.prepare(`SELECT data FROM ${table} ORDER BY id`).all() as { data: string }[];
    return found.map(({ data }) => JSON.parse(data) as Json);
  } finally {
    db.close();
  }
}

/** The state of a task, as `get_task` tells it. */
export async function stateOf(
  session: Pick<RawSession, 'reply'>,
  task_id: string,
): Promise<{ status: string; error?: { message: string } }> {
  const { body, text } = await session.reply('get_task', { task_id });
  if (body['task'] === undefined) throw new Error(text);
  return body['task'] as { status: string; error?: { message: string } };
}
