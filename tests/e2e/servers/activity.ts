/** Waiting for what happens, the way a client does it: with `await_activity` alone. */
import type { HubClient, HubEvent, Json } from '../../support/hub.ts';

const PATIENCE_MS = 15_000;

export interface Activity {
  triggers: Json[];
  events: HubEvent[];
}

export async function activity(hub: HubClient, timeoutMs = PATIENCE_MS): Promise<Activity> {
  const { body, events } = await hub.call('await_activity', { timeout_ms: timeoutMs });
  const groups = body['events'] as { events: HubEvent[] }[];
  return { triggers: body['triggers'] as Json[], events: [...groups.flatMap((group) => group.events), ...events] };
}

/** Waits for the first event of that type and returns it with all that came before and beside it. */
export async function untilEvent(
  hub: HubClient,
  type: string,
  server?: string,
): Promise<{ event: HubEvent; all: HubEvent[] }> {
  const all: HubEvent[] = [];
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    all.push(...(await activity(hub, until - Date.now())).events);
    const event = all.find((each) => each.type === type && (server === undefined || each.server === server));
    if (event) return { event, all };
  }
  throw new Error(`no ${type} came, only: ${all.map((each) => `${each.type} of ${each.server}`).join(', ')}`);
}

export async function echo(hub: HubClient, server: string, text = 'hi'): Promise<string> {
  const reply = await hub.call('execute_tool', { server, tool: 'echo', args: { text } });
  return reply.text;
}

/** The text that a tool without arguments of interest answers. */
export async function ask(hub: HubClient, server: string, tool: string, args: Json = {}): Promise<string> {
  const reply = await hub.call('execute_tool', { server, tool, args });
  if (reply.isError) throw new Error(reply.text);
  return reply.text;
}

export async function statusOf(hub: HubClient, server: string): Promise<Json> {
  return (await hub.call('get_server_status', { server })).body;
}
