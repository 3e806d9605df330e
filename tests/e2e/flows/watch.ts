/** What a client does between its calls: it listens to what happens. */
import { expect } from 'vitest';
import type { HubClient, HubEvent, Json, Reply } from '../../support/hub.ts';

export interface Activity {
  triggers: Json[];
  events: { server: string; events: HubEvent[] }[];
  pending_server: { server: string; working_tasks: Json[] }[];
  pending_client: { elicitations: Json[]; sampling_requests: Json[] };
  lastEventId?: string;
}

export function activityOf(reply: Reply): Activity {
  return JSON.parse(reply.text) as Activity;
}

export async function awaitActivity(hub: HubClient, args: Json = {}): Promise<Activity> {
  return activityOf(await hub.call('await_activity', { timeout_ms: 10_000, ...args }));
}

export function flat(activity: Activity): HubEvent[] {
  return activity.events.flatMap(({ events }) => events);
}

/** All events up to those that make `enough`, in order. */
export async function eventsUntil(hub: HubClient, enough: (events: HubEvent[]) => boolean): Promise<HubEvent[]> {
  const seen: HubEvent[] = [];
  while (!enough(seen)) {
    const activity = await awaitActivity(hub);
    seen.push(...flat(activity));
    if (activity.triggers.some(({ type }) => type === 'timeout')) {
      throw new Error(`nothing more happened after ${JSON.stringify(seen.map(({ type }) => type))}`);
    }
  }
  return seen;
}

export const has =
  (type: string, count = 1) =>
  (events: HubEvent[]): boolean =>
    events.filter((event) => event.type === type).length >= count;

/** Waits until something is so; how long that may take is up to how busy the machine is. */
export function soon<T>(value: () => T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(value, { timeout: 10_000 });
}

/** Calls until the server is connected and all that was to tell of it has been told. */
export async function settle(hub: HubClient, server = 'one'): Promise<void> {
  await hub.call('execute_tool', { server, tool: 'echo', args: { text: 'hello' } });
}

/** What get_task says of a task. */
export async function taskOf(hub: HubClient, taskId: string): Promise<Json> {
  return (await hub.call('get_task', { task_id: taskId })).body['task'] as Json;
}

export async function tasksOf(hub: HubClient, args: Json = { include_completed: true }): Promise<Json[]> {
  return (await hub.call('list_tasks', args)).body['tasks'] as Json[];
}
