/** No event is told twice unless the first telling may not have arrived, and none is lost. */
import type { Exchange } from '../history.ts';
import { object } from '../told.ts';
import { MOVES, OF_THE_DATABASE, type Faults } from './faults.ts';
import { groupBy } from './group.ts';
import { nameOf, TASK_END, type Answered, type EventStory, type TaskStory } from './stories.ts';

export function checkEvents(events: readonly EventStory[], answered: readonly Answered[], faults: Faults): string[] {
  const ofClient = groupBy(answered, ({ client }) => client);
  return events.flatMap(({ event, client, tellings }) => {
    const name = `${client}: event ${event.id} (${event.type})`;
    const [first, ...others] = tellings;
    if (first === undefined) return [];
    const { sent, received } = first.exchange;
    // Two requests at the same time, on two connections, may be those of two windows: each is told everything.
    const again = others.filter(({ exchange }) => exchange.sent > received);
    if ([first, ...again].filter(({ marked }) => !marked).length > 1) return [`${name} was told twice`];
    return again.flatMap(({ exchange }) => {
      if (!faults.between(sent, exchange.received, MOVES)) return [`${name} was told twice by the same run`];
      // What the client asked next came to a gateway that had seen the first telling leave.
      const later = ofClient
        .get(client)
        ?.find((other) => other.sent > received && tellsState(other) && !faults.between(sent, other.received, MOVES));
      return later ? [`${name} was told again, although ${later.tool} was answered since`] : [];
    });
  });
}

/** The result of a fast call leaves whatever becomes of other changes; any other reply waits for them to be stored. */
function tellsState({ call, told }: Answered): boolean {
  return call === undefined || 'proxy_task' in told.body;
}

export function checkOrder(answered: readonly Answered[]): string[] {
  return answered.flatMap(({ client, tool, told }) => {
    // `await_activity` groups them by server.
    const ids = groupBy(told.events, ({ server }) => (tool === 'await_activity' ? server : '')).values();
    const sorted = [...ids].every((group) =>
      group.every(({ id }, index) => index === 0 || id > idAt(group, index - 1)),
    );
    return sorted ? [] : [`${client}: ${tool} told events out of order`];
  });
}

/** What happens later has a greater id, at whatever gateway: clients may ask for all events after one that they know. */
export function checkIncreasing(
  tasks: readonly TaskStory[],
  events: readonly EventStory[],
  answered: readonly Answered[],
): string[] {
  const ofTask = groupBy(events, ({ event }) => String(event.data['taskId']));
  const ofClient = groupBy(
    answered.filter(({ told }) => told.events.length > 0),
    ({ client }) => client,
  );
  return tasks.flatMap((task) => {
    const ofThis = ofTask.get(task.id) ?? [];
    const begun = ofThis.find(({ event }) => event.type === 'task_created')?.event.id;
    const end = ofThis.find(({ event }) => TASK_END.test(event.type))?.event.id;
    const sent = task.call?.sent ?? 0;
    const before = (ofClient.get(task.client) ?? []).filter(({ received }) => received < sent);
    const last =
      before
        .flatMap(({ told }) => told.events.map(({ id }) => id))
        .toSorted()
        .at(-1) ?? '';
    const wrong = [
      begun !== undefined && end !== undefined && begun > end && `ended with event ${end}, but began with ${begun}`,
      ...ofThis.map(({ event }) => event.id < last && `has event ${event.id}, after ${last} had been told`),
    ];
    return wrong.filter((what) => what !== false).map((what) => `${nameOf(task)} ${what}`);
  });
}

const idAt = (group: readonly { id: string }[], index: number): string => group[index]?.id ?? '';

/** Of every task its client was told once how it ended; that it began, a reply that shows it may say without an event. */
export function checkEventsOfTasks(tasks: readonly TaskStory[], events: readonly EventStory[]): string[] {
  const ofTask = groupBy(events, ({ event }) => String(event.data['taskId']));
  return tasks.flatMap((task) => {
    const types = (ofTask.get(task.id) ?? []).map(({ event }) => event.type);
    const begun = types.filter((type) => type === 'task_created').length;
    const ended = types.filter((type) => TASK_END.test(type));
    const wrong = [
      begun > 1 && `has ${begun} events that tell of its beginning`,
      ended.length !== 1 && `has ${ended.length} events that tell of its end: ${ended.join(', ')}`,
    ];
    return wrong.filter((what) => what !== false).map((what) => `${nameOf(task)} ${what}`);
  });
}

/**
 * What a server said during a call is told with the reply to it, or later. A gateway that cannot store it meanwhile passes the
 * result on without it; if another one takes the session over then, it is lost.
 */
export function checkNotifications(
  exchanges: readonly Exchange[],
  events: readonly EventStory[],
  faults: Faults,
): string[] {
  const isStored = ({ sent, received }: Exchange): boolean =>
    received !== undefined && !faults.between(sent, received, OF_THE_DATABASE);
  const said = events.filter(({ event }) => event.data['method'] === 'notifications/resources/updated');
  const ofClient = groupBy(said, ({ client }) => client);
  const calls = groupBy(
    exchanges.filter(({ call }) => call?.tool === 'notify'),
    ({ client }) => client,
  );
  return [...calls].flatMap(([client, sent]) => {
    const count = ofClient.get(client)?.length ?? 0;
    const least = sum(sent.filter((each) => each.told?.text.startsWith('sent ') && isStored(each)));
    const most = sum(sent);
    if (count >= least && count <= most) return [];
    return [`${client}: ${count} notifications were told, of ${least} at least and ${most} at most`];
  });
}

function sum(calls: readonly Exchange[]): number {
  return calls.reduce((total, { args }) => total + Number(object(args['args'])['count']), 0);
}
