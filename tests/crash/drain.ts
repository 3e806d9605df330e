import { setTimeout as delay } from 'node:timers/promises';
import type { CrashClient } from './client.ts';
import { answerOne, type Load } from './load.ts';
import type { Random } from './random.ts';
import type { Json, Told, ToldTask } from './told.ts';

/** Nothing in the load takes so long that nothing would happen for this time. */
const STILL_MS = 5000;
const ATTEMPTS = 20;
const RETRY_MS = 100;

/** Answers what is asked until all has ended, then hears all there is to be heard. */
export async function drain(client: CrashClient, random: Random, load: Load): Promise<void> {
  let left = '';
  let since = Date.now();
  for (;;) {
    const { tasks, questions } = await surely(client, 'list_tasks');
    const [question] = questions;
    if (question !== undefined) await answerOne(client, question, random, load);
    if (tasks.length === 0 && question === undefined) break;
    const now = tasks.map(({ id }) => id).join(' ');
    if (now !== left || question !== undefined) {
      left = now;
      since = Date.now();
    } else if (Date.now() - since > STILL_MS) {
      await giveUp(client, tasks, load);
      break;
    }
    await client.call('await_activity', { timeout_ms: 200 });
  }
  const all = await surely(client, 'list_tasks', { include_completed: true });
  for (const { id } of all.tasks) await surely(client, 'get_task_result', { task_id: id, timeout_ms: 0 });
  for (;;) {
    const told = await surely(client, 'await_activity', { timeout_ms: 0 });
    if (told.events.length === 0) return;
  }
}

/** Some connections are still broken when all is well again. */
async function surely(client: CrashClient, tool: string, args: Json = {}): Promise<Told> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const told = await client.call(tool, args);
    // On a machine without time for it, a lease may end again.
    if (told !== undefined && !(told.isError && told.text.includes('TOOL_ERR_STORE'))) return told;
    await delay(RETRY_MS);
  }
  throw new Error(`${client.name} got no reply to ${tool} in ${ATTEMPTS} attempts`);
}

async function giveUp(client: CrashClient, tasks: ToldTask[], { history }: Load): Promise<void> {
  for (const { id } of tasks) {
    history.stuck.add(id);
    await client.call('cancel_task', { task_id: id });
  }
}
