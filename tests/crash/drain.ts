import type { CrashClient } from './client.ts';
import { answerOne, type Load } from './load.ts';
import type { Random } from './random.ts';
import type { ToldTask } from './told.ts';

/** Nothing in the load takes so long that nothing would happen for this time. */
const STILL_MS = 5000;

/** Answers what is asked until all has ended, then hears all there is to be heard. */
export async function drain(client: CrashClient, random: Random, load: Load): Promise<void> {
  let left = '';
  let since = Date.now();
  for (;;) {
    const told = await client.call('list_tasks');
    const [question] = told?.questions ?? [];
    if (question !== undefined) await answerOne(client, question, random, load);
    const tasks = told?.tasks ?? [];
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
  const all = await client.call('list_tasks', { include_completed: true });
  for (const { id } of all?.tasks ?? []) await client.call('get_task_result', { task_id: id, timeout_ms: 0 });
  for (;;) {
    const told = await client.call('await_activity', { timeout_ms: 0 });
    if (told === undefined || told.events.length === 0) return;
  }
}

async function giveUp(client: CrashClient, tasks: ToldTask[], { history }: Load): Promise<void> {
  for (const { id } of tasks) {
    history.stuck.add(id);
    await client.call('cancel_task', { task_id: id });
  }
}
